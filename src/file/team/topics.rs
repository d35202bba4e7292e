//! Names of the arguments that must be the same on all ranks.

use std::fmt;

/// Arguments that must be the same on all ranks. If several differ, the first in this order is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Function,
    Parameters,
    FileName,
    UserString,
    Dataset,
    Counts,
    Number,
    ProcSizes,
    Root,
    Encode,
    ReadAhead,
}

impl Topic {
    pub(super) const NAMES: [&'static str; 11] = [
        "the function that is called",
        "a parameter of opening",
        "the file name",
        "the user string or name",
        "the dataset or group",
        "the counts of elements N_q",
        "a size, an offset, or the number of a section or record",
        "the sizes S_q",
        "the root",
        "encode or decode",
        "where in the file they read: it changed, or they see different ones",
    ];
    pub(super) const COUNT: usize = Self::NAMES.len();
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Function,
        Self::Parameters,
        Self::FileName,
        Self::UserString,
        Self::Dataset,
        Self::Counts,
        Self::Number,
        Self::ProcSizes,
        Self::Root,
        Self::Encode,
        Self::ReadAhead,
    ];
}

/// Collective functions: all ranks must call the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Create,
    Append,
    WriteInline,
    WriteBlock,
    WriteArray,
    WriteVarray,
    WriteDataset,
    WriteField,
    WriteTexts,
    WriteGroup,
    SetAttributes,
    BeginStreams,
    EndStreams,
    Flush,
    Commit,
    CommitBegin,
    CloseBegin,
    Wait,
    Open,
    ReadHeader,
    ReadInline,
    ReadBlock,
    ReadArray,
    ReadVarraySizes,
    ReadVarray,
    ReadBlockRange,
    ReadArrayRange,
    ReadVarraySizesRange,
    ReadVarrayRange,
    Dataset,
    Group,
    ReadDataset,
    ReadDatasets,
    ReadTexts,
    Streams,
    ReadStreamsSizes,
    ReadStreams,
    ProcSizes,
    ProcCounts,
    Partition,
    Agree,
    Seek,
    Sections,
    SeekSection,
    Find,
    FindAll,
    Skip,
    CheckCanonical,
    Refresh,
    Close,
}

/// The name in messages, such as `write_array`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, c) in format!("{self:?}").char_indices() {
            let joint = if at > 0 && c.is_uppercase() { "_" } else { "" };
            write!(f, "{joint}{}", c.to_ascii_lowercase())?;
        }
        Ok(())
    }
}
