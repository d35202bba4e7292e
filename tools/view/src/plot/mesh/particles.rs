//! Particles (docs/particles.md).

use super::parts::{MOST, Parts, read};
use super::{Faces, Mesh};
use crate::datasets::dataset_at;
use crate::fail::Result;
use crate::plot::cf_decoding::CfDecoding;

/// The column that says where particles are.
pub const POSITION: &str = "position";
/// The most sections in which it is looked for.
const MOST_SECTIONS: u64 = 1 << 16;

/// The particles of a step that begins with a section, as points.
pub fn load(parts: &mut Parts<'_>, begin: u64) -> Result<Mesh> {
    let count = match parts.need("offsets", 0)?.1.last() {
        Some(&last) => super::parts::index(last),
        None => 0,
    };
    if count as u64 > MOST {
        return parts.fail(format_args!("found {count} particles, expected at most {MOST}"));
    }
    let Some(positions) = positions(parts, begin)? else {
        return parts.fail("the column position is missing, by which particles are drawn");
    };
    let axes = positions.len().checked_div(count).unwrap_or(0);
    if axes * count != positions.len() || (count > 0 && !(1..=3).contains(&axes)) {
        let found = positions.len();
        return parts
            .fail(format_args!("found {found} coordinates of {count} particles, expected 1 to 3 of each"));
    }
    let mut faces = Faces::default();
    for particle in 0..count {
        let mut point = [0.0; 3];
        point[..axes].copy_from_slice(&positions[particle * axes..(particle + 1) * axes]);
        faces.push(particle, [point]);
    }
    Ok(Mesh::new(count, faces))
}

/// The coordinates: a field, or a member of one of structs.
fn positions(parts: &mut Parts<'_>, begin: u64) -> Result<Option<Vec<f64>>> {
    if let Some((_, numbers)) = parts.last(&format!("fields/{POSITION}"), begin)? {
        return Ok(Some(numbers));
    }
    let folder = format!("{}/fields/", parts.group);
    let end = parts.reader.sections()?.min(parts.end).min(begin.saturating_add(MOST_SECTIONS));
    for number in begin..end {
        let Some(section) = parts.reader.section(number)? else { break };
        let dataset = dataset_at(parts.reader, section.offset)?;
        let Some(dataset) = dataset.filter(|dataset| dataset.name.starts_with(&folder)) else {
            continue;
        };
        if CfDecoding::members(&dataset).iter().any(|(name, _)| name == POSITION) {
            let name = format!("fields/{}", &dataset.name[folder.len()..]);
            let Some(dataset) = parts.dataset(&name, begin)? else { break };
            let (meaning, _) = CfDecoding::column(&dataset, Some(POSITION))?;
            return Ok(Some(read(parts.reader, &dataset, &meaning)?));
        }
    }
    Ok(None)
}
