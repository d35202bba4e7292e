//! Finds differences between sections with the same header.

use super::report::Location;
use crate::data_batches::DataBatches;
use crate::fail::Result;
use crate::progress;
use crate::rows::kind;
use scda::{Reader, Section, SectionType};
use scda_base::numbers::to_usize;

/// Compares the data of the sections. Their headers must be the same.
pub fn of_data(
    at: &Location,
    (section, other): (&Section, &Section),
    (a, b): (&mut Reader, &mut Reader),
) -> Result<Option<String>> {
    let (mut in_a, mut in_b) = (DataBatches::all(section), DataBatches::all(other));
    if section.section_type == SectionType::Varray
        && let Some(difference) = of_sizes(at, section, (a, b))?
    {
        return Ok(Some(difference));
    }
    // Batches of compressed and of plain data may have different lengths.
    let (mut passed, mut used_a, mut used_b) = (0, 0, 0);
    loop {
        if used_a == in_a.data().len() && in_a.next(a)? {
            used_a = 0;
            progress::add(in_a.data().len() as u64);
        }
        if used_b == in_b.data().len() && in_b.next(b)? {
            used_b = 0;
        }
        let (rest_a, rest_b) = (&in_a.data()[used_a..], &in_b.data()[used_b..]);
        let length = rest_a.len().min(rest_b.len());
        if length == 0 {
            if in_a.is_done() && in_b.is_done() {
                return Ok(None);
            }
            continue;
        }
        if rest_a[..length] == rest_b[..length] {
            used_a += length;
            used_b += length;
            passed += length as u64;
            continue;
        }
        let place = rest_a.iter().zip(rest_b).position(|(a, b)| a != b).unwrap_or(0);
        let byte = passed + place as u64;
        let (byte, element) = match section.section_type {
            SectionType::Inline | SectionType::Block => (byte, None),
            SectionType::Array => (byte % section.size, Some(byte / section.size)),
            SectionType::Varray => {
                // The sizes are the same, and so are the batches.
                let (element, byte) = in_a.varray_element(used_a + place);
                (byte, Some(element))
            }
        };
        let (x, y) = (rest_a[place], rest_b[place]);
        let name = at.words(kind(section), &section.user);
        let element_words = element.map(|element| format!("element {element}, ")).unwrap_or_default();
        return Ok(Some(format!("{name}: {element_words}byte {byte}: 0x{x:02x} | 0x{y:02x}")));
    }
}

fn of_sizes(at: &Location, section: &Section, (a, b): (&mut Reader, &mut Reader)) -> Result<Option<String>> {
    let (mut sizes_a, mut sizes_b) = (vec![0; 1 << 14], vec![0; 1 << 14]);
    let mut done = 0;
    while done < section.count {
        let step = (section.count - done).min(sizes_a.len() as u64);
        sizes_a.truncate(to_usize(step));
        sizes_b.truncate(sizes_a.len());
        a.ranges().read_varray_sizes(done..done + step, &mut sizes_a)?;
        b.ranges().read_varray_sizes(done..done + step, &mut sizes_b)?;
        if let Some(index) = sizes_a.iter().zip(&sizes_b).position(|(a, b)| a != b) {
            let (element, x, y) = (done + index as u64, sizes_a[index], sizes_b[index]);
            let name = at.words(kind(section), &section.user);
            return Ok(Some(format!("{name}: element {element}: {x} bytes | {y} bytes")));
        }
        done += step;
    }
    Ok(None)
}
