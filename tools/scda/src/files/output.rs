//! An output file.

use super::input::{Input, temporary_file};
use super::names::{check_free, is_standard};
use crate::fail::{Fail, Result};
use crate::output::{self, complain};
use crate::signals;
use scda::{Collective, Encode, Solo, WriteOptions, Writer};
use scda_format::dataset::{DATASET_CONVENTION, metadata};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A file to write: it appears under its name when it is complete, or it is appended to in place.
pub struct OutputFile {
    path: PathBuf,
    force: bool,
    params: WriteOptions,
    /// For standard output: holds the file until it is complete. It has no name, so nothing remains of it.
    spool: Option<File>,
    /// Until it is finished.
    writer: Option<Writer>,
}

impl OutputFile {
    /// `inputs` are files that are read for it; those that are read otherwise have limited [`WriteOptions::mode`]. The
    /// path `-` is standard output.
    pub fn create(
        path: &Path,
        force: bool,
        user: &[u8],
        mut params: WriteOptions,
        inputs: &[Input],
    ) -> Result<Self> {
        if is_standard(path) {
            return Self::standard(user, params);
        }
        check_free(path, force)?;
        inputs.iter().try_for_each(|input| input.check_not_left(path))?;
        params.mode = inputs.iter().fold(params.mode, |mode, input| mode & input.mode());
        params.atomic = true;
        // Compressed pairs are copied section by section.
        params.raw = true;
        signals::begin(path);
        let writer = Writer::create(Solo, path, user, &params).inspect_err(|_| signals::end())?;
        Ok(Self { path: path.to_owned(), force, params, spool: None, writer: Some(writer) })
    }

    /// For standard output. A file is not written in order, so nothing is printed before it is complete.
    fn standard(user: &[u8], mut params: WriteOptions) -> Result<Self> {
        if output::Output::new()?.is_terminal() {
            return Err(Fail::file("standard output", "an scda file is not written to a terminal"));
        }
        let spool = temporary_file()?;
        params.raw = true;
        let writer =
            Writer::create(Solo, Path::new(&format!("/dev/fd/{}", spool.as_raw_fd())), user, &params)?;
        Ok(Self { path: "-".into(), force: true, params, spool: Some(spool), writer: Some(writer) })
    }

    /// Appends to a file that exists: in place, or with [`WriteOptions::atomic`] to a copy that replaces it.
    pub fn append(path: &Path, mut params: WriteOptions, inputs: &[Input]) -> Result<Self> {
        // A file that is appended to in place stays if a signal ends the command.
        if params.atomic {
            inputs.iter().try_for_each(|input| input.check_not_left(path))?;
            signals::begin(path);
        }
        // After an error, the core cuts what was appended off again, as long as it has the lock of the file.
        (params.raw, params.sync, params.mark_incomplete) = (true, true, true);
        let writer = Writer::append(Solo, path, &params).inspect_err(|_| signals::end())?;
        let cut = writer.bytes_rolled_back();
        if cut > 0 {
            let name = path.display();
            complain(&format!("{name}: removed {cut} uncommitted bytes after the last seal"));
        }
        Ok(Self { path: path.to_owned(), force: true, params, spool: None, writer: Some(writer) })
    }

    pub fn writer(&mut self) -> Result<&mut Writer> {
        self.writer.as_mut().ok_or_else(|| Fail::Trouble("the file is finished".to_owned()))
    }

    /// Writes the metadata of a dataset, so that contiguous data of `data_bytes` bytes after them are aligned.
    pub fn metadata(&mut self, mut text: String, data_bytes: u64) -> Result<()> {
        let position = self.position()?;
        metadata::align(&mut text, data_bytes, position);
        let writer = self.writer()?;
        let bytes = text.len() as u64;
        Ok(writer.incremental().block(DATASET_CONVENTION, bytes, &mut text.as_bytes(), Encode::None)?)
    }

    /// Where the next section begins.
    pub fn position(&mut self) -> Result<u64> {
        let writer = self.writer()?;
        if writer.position().is_none() {
            writer.flush()?;
        }
        Ok(writer.position().unwrap_or(0))
    }

    /// True if the finished file ends with a seal.
    pub fn is_sealed(&self) -> bool {
        self.params.seal
    }

    pub fn finish(mut self) -> Result<()> {
        // Somebody else may have come in the meantime.
        if self.spool.is_none() {
            check_free(&self.path, self.force)?;
        }
        let closed = self.writer.take().map_or(Ok(()), |writer| Ok(writer.close()?));
        signals::end();
        match self.spool.take() {
            Some(spool) => closed.and_then(|()| print_all(spool)),
            None => closed,
        }
    }
}

/// Prints a file.
fn print_all(mut file: File) -> Result<()> {
    let (mut out, mut data) = (output::Output::new()?, vec![0; 1 << 20]);
    loop {
        match file.read(&mut data).map_err(|error| Fail::Trouble(format!("temporary file: {error}")))? {
            0 => return out.finish(),
            count => out.bytes(&data[..count])?,
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            let _ = writer.abandon("the file is not completed");
            signals::end();
        }
    }
}
