//! The command `scda`: looks into a file, checks it, changes it. See docs/tools.md. The binary `scda` and the entry
//! point of the Python package call [`run`].

mod append;
mod attr;
mod cat;
mod check;
mod copy;
mod data_batches;
mod datasets;
mod diff;
mod doctor;
mod facts;
mod fail;
mod files;
mod formats;
mod generate;
mod hdf5;
mod hidden;
mod incomplete_streams;
mod join_streams;
mod ls;
mod manifest;
mod output;
mod progress;
mod python;
mod ranges;
mod read_ahead;
mod rewind;
mod rows;
mod salvage;
mod seal;
mod section_choice;
mod select;
mod signals;
mod split;
mod storage_options;
mod streams;
mod terminal_text;
mod transfer;

use clap::{Parser, Subcommand};
use fail::Fail;
use std::ffi::OsString;
use std::io::{self, Write as _};

/// List, check, convert and repair files of the scda format
#[derive(Parser)]
#[command(
    name = "scda",
    version,
    max_term_width = 100,
    after_help = "\
A section is selected by the number that scda ls shows, from 1, or by its user string, in which * matches any text and ? any \
character; 2-5,7- selects several sections. Patterns do not match the sections that datasets, groups and streams consist of, such \
as scda dataset 00, except with --raw. A name of more than 58 bytes selects its dataset.

The file name - means standard input, for one file (not for vtk, nor for import), or, as OUT of copy \
and join, standard output. Input from a pipe is first copied to the folder that TMPDIR names.

Memory use does not grow with the file, but one element, compressed block or chunk must fit into memory. NO_COLOR turns colours \
off. Control characters are shown as \\x1b.

Exit codes: 0 success; 1 the answer is no: a file is not valid, or files differ; 2 another error, which for diff includes a file \
that is not valid; 3 success, but import or vtk left something out."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ls(ls::Args),
    Cat(cat::Args),
    Check(check::Args),
    Salvage(salvage::Args),
    Diff(diff::Args),
    Copy(copy::Args),
    Append(append::AppendArgs),
    Join(append::JoinArgs),
    Split(split::Args),
    JoinStreams(join_streams::Args),
    Attr(attr::Args),
    Seal(seal::Args),
    Hdf5(hdf5::Args),
    Rewind(rewind::Args),
    Import(python::ImportArgs),
    Vtk(python::VtkArgs),
    Doctor(doctor::Args),
}

/// Write the manual pages and the completions of shells; hidden, for the build
#[derive(Parser)]
struct Generate {
    #[command(flatten)]
    args: generate::Args,
}

/// Runs the command with these arguments, of which the first is its own name, and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let code = act(&arguments).map_or_else(Fail::report, |()| 0);
    // Nothing else flushes it if the process is not that of a Rust program.
    let _ = io::stdout().flush();
    code
}

fn act(arguments: &[OsString]) -> fail::Result<()> {
    if arguments.get(1).is_some_and(|command| command == "generate") {
        return generate::run(&parse::<Generate>(&arguments[1..])?.args);
    }
    match parse::<Cli>(arguments)?.command {
        Command::Ls(args) => ls::run(&args),
        Command::Cat(args) => cat::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Salvage(args) => salvage::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Copy(args) => copy::run(&args),
        Command::Append(args) => append::run_append(&args),
        Command::Join(args) => append::run_join(&args),
        Command::Split(args) => split::run(&args),
        Command::JoinStreams(args) => join_streams::run(&args),
        Command::Attr(args) => attr::run(&args),
        Command::Seal(args) => seal::run(&args),
        Command::Hdf5(args) => hdf5::run(&args),
        Command::Rewind(args) => rewind::run(&args),
        Command::Import(args) => python::run_import(&args, arguments),
        Command::Vtk(_) => python::run(arguments),
        Command::Doctor(args) => doctor::run(&args),
    }
}

/// The parsed arguments; otherwise prints what is wrong with them, or the help that they ask for.
fn parse<T: Parser>(arguments: &[OsString]) -> fail::Result<T> {
    T::try_parse_from(arguments).map_err(|error| {
        let printed = match error.use_stderr() {
            true => error.print().or(Ok(())),
            false => output::print(|| error.print()),
        };
        let said = || Fail::Said(u8::try_from(error.exit_code()).unwrap_or(fail::TROUBLE));
        printed.map_or_else(|fail| fail, |()| said())
    })
}
