//! The HDF5 superblock of a file: which one it has, and which one it should have.

use crate::file::reader::Inspector;
use crate::file::reader::index::SealedPart;
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::COUNT_BYTES;
use scda_format::hdf5::{
    LONG_HEADER_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, VIEW_TAIL_BYTES, parse_view_tail,
};
use scda_format::seal::SEAL_BYTES;
use scda_hdf5::Superblock;
use scda_storage::ParallelFile;

#[allow(clippy::missing_errors_doc)] // those of reading
impl Inspector<'_> {
    /// Whether the file has room for an HDF5 superblock. Not collective.
    #[must_use]
    pub fn has_superblock(&self) -> bool {
        self.0.session.state().is_some_and(|state| state.sections.ends().first == LONG_HEADER_BYTES)
    }

    /// What the file has in the place of the superblock; `None` if there is no room for one. Not collective.
    pub fn superblock(&mut self) -> Result<Option<SuperblockState>> {
        let has_room = self.has_superblock();
        self.0.session.operate(|state| {
            let file = state.sections().input.file();
            Ok(if has_room { Some(SuperblockState::of(file)?) } else { None })
        })
    }

    /// The superblock for a file that ends with the seal at `sealed`: that of its last view up to there, or
    /// `None`. Not collective.
    pub fn superblock_up_to(&mut self, sealed: u64) -> Result<Option<Superblock>> {
        self.0.session.operate(|state| Ok(superblock_up_to(state.sections().input.file(), sealed)?))
    }

    /// The superblock that must replace the current one if the file is to end at `end`. `None` if the current
    /// one is right, or if there is no room for one. Not collective.
    pub fn renewed_superblock(&mut self, end: u64) -> Result<Option<[u8; SUPERBLOCK_BYTES]>> {
        let has_room = self.has_superblock();
        self.0.session.operate(|state| {
            let file = state.sections().input.file();
            Ok(if has_room { renewed_superblock(file, end)? } else { None })
        })
    }
}

/// What a file has in the place of the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockState {
    /// Zeros: there is no view.
    None,
    /// A superblock that refers to a view.
    View(Superblock),
    /// Bytes that HDF5 does not recognize.
    Damaged([u8; SUPERBLOCK_BYTES]),
    /// A superblock that libscda did not write: another program has changed the file.
    Foreign,
}

impl SuperblockState {
    /// Reads the state, of a file that has room for a superblock.
    ///
    /// # Errors
    /// Those of reading.
    pub(in crate::file) fn of(file: &mut dyn ParallelFile) -> Result<Self> {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        file.read_at(SUPERBLOCK_OFFSET, &mut bytes)?;
        let (start, sum) = bytes.split_at(SUPERBLOCK_BYTES - 4);
        Ok(match Superblock::of_bytes(&bytes) {
            Ok(None) => Self::None,
            Ok(Some(superblock)) => Self::View(superblock),
            Err(_) if scda_hdf5::checksum(start).to_le_bytes() == *sum => Self::Foreign,
            Err(_) => Self::Damaged(bytes),
        })
    }

    /// The superblock, if it refers to a view.
    pub(super) fn view(self) -> Option<Superblock> {
        match self {
            Self::View(superblock) => Some(superblock),
            _ => None,
        }
    }
}

/// The superblock for a file that ends with the seal at `sealed`: that of its last view up to there, or
/// `None`.
///
/// # Errors
/// Those of reading.
pub(in crate::file) fn superblock_up_to(
    file: &mut dyn ParallelFile,
    sealed: u64,
) -> Result<Option<Superblock>> {
    let mut offset = sealed.checked_sub(SEAL_BYTES as u64);
    while let Some(at) = offset {
        let Some(found) = SealedPart::at(file, sealed, at)? else { return Ok(None) };
        if found.start < found.anchors {
            let mut tail = [0; VIEW_TAIL_BYTES];
            let start = found.anchors - VIEW_TAIL_BYTES as u64;
            file.read_at(start, &mut tail)?;
            let root = parse_view_tail(&tail, start).ok().map(|(root, _)| root);
            let superblock = root.map(|root| Superblock { root, end: found.seal.length });
            return Ok(superblock.filter(|superblock| superblock.to_bytes().is_ok()));
        }
        offset = Some(found.seal.previous).filter(|&previous| previous > 0);
    }
    Ok(None)
}

/// The superblock that must replace the current one if the file is to end at `end`, after a seal or the file
/// header.
///
/// # Errors
/// `Format` if another program has written a superblock; the errors of reading.
pub(in crate::file) fn renewed_superblock(
    file: &mut dyn ParallelFile,
    end: u64,
) -> Result<Option<[u8; SUPERBLOCK_BYTES]>> {
    let state = SuperblockState::of(file)?;
    let last = match state {
        SuperblockState::None => return Ok(None),
        SuperblockState::View(found) => superblock_up_to(file, found.end.min(end))?,
        SuperblockState::Damaged(_) | SuperblockState::Foreign => superblock_up_to(file, end)?,
    };
    let is_ours = match state {
        // A missing seal is damage, which a checker reports.
        SuperblockState::View(found) if found.end <= end => last.is_none_or(|last| last.root == found.root),
        // A job has rolled back, or lost its seal. Other programs neither make the file end where a seal
        // does, nor write a view after one.
        SuperblockState::View(found) => {
            let is_later = found.root >= end || last.is_some_and(|last| last.root == found.root);
            is_later && found.end.is_multiple_of(COUNT_BYTES as u64)
        }
        SuperblockState::Damaged(_) => true,
        _ => false,
    };
    if !is_ours {
        let words =
            "superblock of HDF5: found one that another program has written; change the file by scda alone";
        return Err(Error::new(ErrorKind::Format, words).at(SUPERBLOCK_OFFSET));
    }
    match (state, last) {
        (SuperblockState::View(found), _) if found.end <= end => Ok(None),
        (_, Some(last)) => Ok(Some(last.to_bytes()?)),
        (_, None) => Ok(Some([0; SUPERBLOCK_BYTES])),
    }
}
