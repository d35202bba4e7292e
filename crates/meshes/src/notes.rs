//! Notes on the meshes of a file that is being written, so that fields of another mesh are refused.

use scda::{Collective, ReadOptions, Reader, Result, Solo, Writer};
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::{Convention, attributes, part_name};
use std::collections::BTreeMap;

/// Notes on the groups of a file that is open for writing, by their names. Keep them together with the file.
pub type MeshNotes = BTreeMap<String, GroupNotes>;

/// Notes on a group. The same on all ranks.
#[derive(Clone, Debug, Default)]
pub struct GroupNotes {
    /// Whether the attributes of the group are in the file.
    pub(crate) has_group: bool,
    /// Whether the existing part of a file that is appended to has been read.
    is_read: bool,
    /// The last mesh in the file, if there is one: the number of its quadrants, elements or patches, and its
    /// checksum.
    pub(crate) mesh: Option<(u64, Checksum)>,
    /// Whether the current time step has fields of this mesh.
    pub(crate) has_fields: bool,
    /// The numbers of particles and cells that were last written.
    pub(crate) written: Option<(u64, u64)>,
    /// A hash of the last connectivity of a forest that was written.
    pub(crate) connectivity: Option<u64>,
}

/// The notes on a group.
pub(crate) fn notes_of<'a>(notes: &'a mut MeshNotes, group: &str) -> &'a mut GroupNotes {
    notes.entry(group.to_owned()).or_default()
}

/// Reads, once, the attributes of a group and its last mesh from a file that is appended to. Something that
/// cannot be read counts as unknown.
pub(crate) fn read_notes(
    file: &mut Writer,
    known: &mut GroupNotes,
    group: &str,
    kind: Convention,
) -> Result<()> {
    let Some(path) = file.appended().map(ToOwned::to_owned) else { return Ok(()) };
    if known.is_read {
        return Ok(());
    }
    known.is_read = true;
    let mut found = Vec::new();
    if file.rank() == 0
        && let Ok(mut reader) = Reader::open(Solo, &path, &ReadOptions::default())
    {
        let attributes = reader.group(group).ok().flatten().map(|group| group.attributes).unwrap_or_default();
        found.push(u8::from(attributes::whole_number(&attributes, kind.attribute()).is_some()));
        let dataset =
            part_name(group, kind.parts()[0].name).and_then(|name| reader.dataset(&name)).ok().flatten();
        if let Some(dataset) = dataset
            && let Some(rows) = dataset.shape.first()
            && let Some(mesh) = attributes::mesh(&dataset.attributes).filter(|text| text.len() == 16)
            && let Ok(checksum) = u64::from_str_radix(&mesh, 16)
        {
            found.extend([*rows, checksum].map(u64::to_le_bytes).concat());
        }
    }
    let found = file.gather_all(Ok(&found))?;
    known.has_group |= found.first() == Some(&1);
    let words = found.get(1..).unwrap_or_default().as_chunks().0;
    if let (None, &[cells, checksum]) = (known.mesh, words) {
        known.mesh = Some((u64::from_le_bytes(cells), Checksum(u64::from_le_bytes(checksum))));
    }
    Ok(())
}
