//! The meshes of a file that is being written, so that fields of another mesh are refused.

use crate::attributes;
use crate::checksum::Checksum;
use crate::names::part_name;
use scda::{Collective, ReadOptions, Reader, Result, Solo, Writer};
use std::collections::BTreeMap;

/// What is known of the groups of a file that is open for writing, by their names. Keep it with the file.
pub type MeshNotes = BTreeMap<String, GroupNotes>;

/// What is known of a group. The same on all ranks.
#[derive(Clone, Debug, Default)]
pub struct GroupNotes {
    /// Its last mesh.
    pub note: Box<MeshNote>,
    /// The numbers of particles and cells that were written last.
    pub(crate) written: Option<(u64, u64)>,
}

/// What is known of the last mesh of a group.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct MeshNote {
    /// 1: the attributes of the group are in the file.
    pub has_group: i32,
    /// 1: the file that is appended to was looked into.
    pub is_looked: i32,
    /// 1: there is a mesh, of which the next two are known.
    pub has_mesh: i32,
    /// 1: the time step has fields of this mesh.
    pub has_fields: i32,
    /// The quadrants, elements or patches of the mesh.
    pub cells: u64,
    /// Its checksum.
    pub checksum: u64,
}

impl GroupNotes {
    /// The last mesh in the file, if there is one: its quadrants or patches, and its checksum.
    #[must_use]
    pub fn mesh(&self) -> Option<(u64, Checksum)> {
        (self.note.has_mesh != 0).then_some((self.note.cells, Checksum(self.note.checksum)))
    }

    /// The last mesh in the file is this one.
    pub fn set_mesh(&mut self, cells: u64, checksum: Checksum) {
        (self.note.has_mesh, self.note.cells, self.note.checksum) = (1, cells, checksum.0);
    }
}

/// The note of a group.
pub(crate) fn known<'a>(notes: &'a mut MeshNotes, group: &str) -> &'a mut GroupNotes {
    notes.entry(group.to_owned()).or_default()
}

/// Looks once into a file that is appended to, as it was then, for the attributes of a group and for its last mesh, which begins with the
/// dataset `first`. What cannot be read is not known.
pub(crate) fn look(
    file: &mut Writer,
    known: &mut GroupNotes,
    group: &str,
    kind: &str,
    first: &str,
) -> Result<()> {
    let Some(path) = file.appended().map(ToOwned::to_owned) else { return Ok(()) };
    if known.note.is_looked != 0 {
        return Ok(());
    }
    known.note.is_looked = 1;
    let mut found = Vec::new();
    if file.rank() == 0
        && let Ok(mut reader) = Reader::open(Solo, &path, &ReadOptions::default())
    {
        let attributes = reader.group(group).ok().flatten().map(|group| group.attributes).unwrap_or_default();
        found.push(u8::from(attributes::whole_number(&attributes, kind).is_some()));
        let dataset = part_name(group, first).and_then(|name| reader.dataset(&name)).ok().flatten();
        if let Some(dataset) = dataset
            && let Some(rows) = dataset.shape.first()
            && let Some(mesh) = attributes::mesh(&dataset.attributes).filter(|text| text.len() == 16)
            && let Ok(checksum) = u64::from_str_radix(&mesh, 16)
        {
            found.extend([*rows, checksum].map(u64::to_le_bytes).concat());
        }
    }
    let found = file.gather_all(Ok(&found))?;
    known.note.has_group |= i32::from(found.first() == Some(&1));
    let words = found.get(1..).unwrap_or_default().as_chunks().0;
    if let (None, &[cells, checksum]) = (known.mesh(), words) {
        known.set_mesh(u64::from_le_bytes(cells), Checksum(u64::from_le_bytes(checksum)));
    }
    Ok(())
}
