//! The binary `scda`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(scda_command::run(std::env::args_os()))
}
