//! Room for the superblock of HDF5 in a file that has no section yet.

use super::Sections;
use crate::file::options::Hdf5;
use crate::file::team::Failure;
use scda_format::FILE_HEADER_BYTES;
use scda_format::hdf5::{LONG_HEADER_BYTES, reserved_section};

/// Makes room for the superblock of HDF5 in a sealed file that has nothing but its header, unless it is to have no view. The block
/// counts as a part of the header. Collective.
#[inline(always)]
pub fn reserve_superblock(sections: &mut Sections) -> Result<(), Failure> {
    if sections.end() == FILE_HEADER_BYTES as u64 { lengthen_header(sections) } else { Ok(()) }
}

#[cold]
fn lengthen_header(sections: &mut Sections) -> Result<(), Failure> {
    let is_wanted = sections.params().hdf5 != Hdf5::Never;
    let Some(sealer) = sections.sealer.as_mut().filter(|_| is_wanted) else { return Ok(()) };
    let is_zero = sections.output.team().rank() == 0;
    let block = reserved_section(&scda_hdf5::reserved(), sections.output.params().line_break);
    // Nothing was passed to the thread yet, if there is one.
    let written = sections.output.file_mut().now().and_then(|file| {
        let mine: &[u8] = if is_zero { &block } else { &[] };
        if let Some(sums) = file.sums() {
            sums.lengthen_only(LONG_HEADER_BYTES, mine);
        }
        if is_zero { file.unsummed().write_at(FILE_HEADER_BYTES as u64, &[mine]) } else { Ok(()) }
    });
    sealer.lengthen_header(LONG_HEADER_BYTES);
    sections.team_mut().tolerate(written, ())?;
    sections.has_superblock = true;
    sections.output.progress_mut().lengthen_header(LONG_HEADER_BYTES);
    // A call that goes on has done nothing else.
    sections.output.begin_call();
    Ok(())
}
