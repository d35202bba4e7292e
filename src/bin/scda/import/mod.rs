//! `scda import`: a file from one of another system.

mod sdf;
mod sion;

use crate::fail::{Fail, Result};
use crate::files::{Input, Output, Threads, check_free, check_replaceable};
use crate::output::complain;
use scda::internals::{self, Foreign};
use scda::{Error, Params};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Import a file of SDF or SIONlib
///
/// Each array of an SDF file becomes a dataset with its label as name. The streams of the tasks of a SIONlib file become the elements
/// of a varray, and what else the file says becomes datasets and attributes; of several physical files, IN is the first. The beginning
/// of the file tells which of them it is. docs/tools.md says what is written.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda import state.sdf state.scda; scda ls state.scda
  scda import restart.sion restart.scda; scda cat restart.scda sion/streams --range 3:4 > task-3")]
pub struct Args {
    /// The file to import
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Import what is whole in a damaged file
    #[arg(long)]
    salvage: bool,
    /// Do not seal the new file
    #[arg(long)]
    no_seal: bool,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

impl Args {
    /// Whether an error of the file ends the command; if not, it is reported.
    fn tolerate(&self, error: &Error) -> Result<()> {
        if !self.salvage {
            complain(&error.to_string());
            complain("--salvage imports what is whole");
            return Err(Fail::Said(crate::fail::NO));
        }
        complain(&error.to_string());
        Ok(())
    }

    /// A new file with the name of this one as its user string. `all` are the physical files.
    fn create<'a>(
        &self,
        input: Input,
        file: &Foreign,
        all: impl IntoIterator<Item = &'a Foreign>,
    ) -> Result<Output> {
        let all = all.into_iter().map(Foreign::status).collect::<Result<Vec<_>, _>>()?;
        check_replaceable(&self.to, "is the file to import itself", all)?;
        let mut params = Params::default();
        params.seal = !self.no_seal;
        let name = file_name(file);
        let user = name.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = user.take_while(|&end| end <= scda::USER_STRING_BYTES).last().unwrap_or(0);
        Output::create(&self.to, self.force, &name.as_bytes()[..end], params, &[input])
    }
}

/// The name of a file without folders.
fn file_name(file: &Foreign) -> String {
    file.name().rsplit('/').next().unwrap_or_default().to_owned()
}

/// Attributes for all of the file: where it comes from, and what else is known.
fn attributes(file: &Foreign, format: &str, is_whole: bool, more: Value) -> String {
    let mut source = json!({
        "format": format,
        "file": file_name(file),
        "bytes": file.size(),
        "complete": is_whole,
    });
    if let (Some(source), Value::Object(more)) = (source.as_object_mut(), more) {
        source.extend(more);
    }
    json!({ "imported": source }).to_string()
}

pub fn run(args: &Args) -> Result<()> {
    check_free(&args.to, args.force)?;
    let input = Input::new(&args.from, &Threads::default())?;
    let name = input.name().to_owned();
    let file = Foreign::open(input.path(), &name)?;
    if file.begins_with(internals::sdf::MAGIC)? {
        return sdf::run(args, input, &file);
    }
    if file.begins_with(internals::sion::MAGIC)? {
        return sion::run(args, input, &file);
    }
    complain(&format!(
        "{name}: byte 0: found neither \"SDF format\" nor \"sion\", which files of SDF and SIONlib begin with"
    ));
    Err(Fail::Said(crate::fail::NO))
}
