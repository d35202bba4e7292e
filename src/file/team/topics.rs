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
    /// Each with its words in messages.
    pub(super) const ALL: [(Self, &'static str); 11] = [
        (Self::Function, "the function that is called"),
        (Self::Parameters, "a parameter of opening"),
        (Self::FileName, "the file name"),
        (Self::UserString, "the user string or name"),
        (Self::Dataset, "the dataset or group"),
        (Self::Counts, "the counts of elements N_q"),
        (Self::Number, "a size, an offset, or the number of a section or record"),
        (Self::ProcSizes, "the sizes S_q"),
        (Self::Root, "the root"),
        (Self::Encode, "encode or decode"),
        (Self::ReadAhead, "where in the file they read: it changed, or they see different ones"),
    ];
    pub(super) const COUNT: usize = Self::ALL.len();
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
