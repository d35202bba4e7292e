//! Input and output files of the commands.

mod input;
mod names;
mod options;
mod output;

pub use input::Input;
pub use names::{
    Identity, LockedInput, State, check_free, check_not_left, check_replaceable, is_standard, lock,
    mode_like, status,
};
pub use options::{EncoderName, Resources, Seal, SealByDefault, Style};
pub use output::OutputFile;
