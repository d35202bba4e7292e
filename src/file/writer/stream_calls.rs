//! The calls of a writer for streams of tasks.

use super::{Writer, WriterState};
use crate::file::session::SessionState as _;
use scda_base::error::Result;

impl Writer {
    /// Begins a set of streams: from now on each rank writes its own by [`Self::write_stream`], without the others, until
    /// [`Self::end_streams`]. The file has them in chunks of `chunk_bytes` bytes, 1 to 2^30; 0: a stripe
    /// ([`Params::stripe_bytes`](crate::Params::stripe_bytes)), at least 1 MiB and at most 64 MiB. A chunk should be a multiple of the file system's blocks, so that no
    /// two ranks write the same one.
    ///
    /// Until the end, only [`Self::flush`] and [`Self::commit`] may be called besides.
    ///
    /// ```
    /// use scda::{Params, Reader, Solo, Writer, run_on_threads};
    /// use std::io::Read;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.scda");
    /// run_on_threads(3, |comm| {
    ///     let rank = scda::Communicator::rank(&comm);
    ///     let mut file = Writer::create(comm, &path, b"an example", &Params::default())?;
    ///     file.begin_streams(b"log", 4)?; // collective; chunks of 4 bytes, for the example
    ///     for step in 0..rank {
    ///         file.write_stream(format!("step {step}\n").as_bytes())?; // this rank alone
    ///     }
    ///     file.end_streams()?; // collective
    ///     file.close()
    /// })
    /// .into_iter()
    /// .collect::<scda::Result<Vec<()>>>()?;
    ///
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// let streams = file.streams_record(b"log", 0)?.expect("the set of streams");
    /// let stream = file.stream(&streams, 2)?;
    /// let mut text = String::new();
    /// file.stream_reader(stream).read_to_string(&mut text)?;
    /// assert_eq!((streams.tasks(), &*text), (3, "step 0\nstep 1\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument`, `Usage`, `Memory`, and the errors of the file system.
    pub fn begin_streams(&mut self, user: &[u8], chunk_bytes: u64) -> Result<()> {
        self.session.operate(|state| {
            state.check_no_streams()?;
            state.streams().begin(user, chunk_bytes)
        })
    }

    /// Writes bytes to the end of this rank's stream. Not collective: no message is sent. What is long is written straight from
    /// `data`, the rest is collected.
    ///
    /// # Errors
    /// `Usage` if there are no streams; `Range`, `Memory`, and the errors of the file system. The other ranks learn of it when
    /// all next meet, in [`Self::flush`], [`Self::commit`] or [`Self::end_streams`], which then close the file.
    pub fn write_stream(&mut self, data: &[u8]) -> Result<()> {
        self.session.locally(|state| state.write_stream(data))
    }

    /// The bytes that this rank has written to its stream. Not collective. 0 if there are no streams.
    #[must_use]
    pub fn stream_bytes(&self) -> u64 {
        self.session.state().and_then(WriterState::stream_bytes).unwrap_or(0)
    }

    /// Ends the streams that [`Self::begin_streams`] has begun.
    ///
    /// # Errors
    /// `Usage` if there are none; those of all ranks in [`Self::write_stream`]; `Range` and the errors of the file system.
    pub fn end_streams(&mut self) -> Result<()> {
        self.session.operate(|state| state.streams().end())
    }

    /// Writes a set of streams as [`Self::begin_streams`] and the rest do, by a process that writes alone: `open` gives the
    /// stream of each of `tasks` tasks, which is read to its end. The streams need not fit memory.
    ///
    /// # Errors
    /// `Usage` on more than one rank, `Argument` for 0 tasks, those of `open` and of reading, and those of [`Self::begin_streams`].
    pub fn streams_from(
        &mut self,
        user: &[u8],
        chunk_bytes: u64,
        tasks: u64,
        open: &mut dyn FnMut(u64) -> std::io::Result<Box<dyn std::io::Read>>,
    ) -> Result<()> {
        self.call(|state| {
            state.catch_up()?;
            state.streams().write_from(user, chunk_bytes, tasks, open)
        })
    }
}
