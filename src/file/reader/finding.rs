//! The methods of `Reader` that find sections.

use super::{Reader, Section};
use scda_base::error::Result;

impl Reader {
    /// The offset of the next section's header in the file, in bytes; between a header and its data, the
    /// offset of the current section. `None` after an error. Not collective.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.session.state().map(|state| state.sections.position())
    }

    /// Moves to the section at this offset, whose header is read next, or to the end of the file.
    ///
    /// `offset` is a [`Section::offset`](crate::Section::offset) or a [`Self::position`]. With any other
    /// offset, the next header is probably, though not certainly, an error.
    ///
    /// # Errors
    /// `Argument` if the offset is not in the file.
    pub fn seek(&mut self, offset: u64) -> Result<()> {
        self.session.operate(|state| state.sections().seek(offset))
    }

    /// The number of sections. A compressed section, which takes two in the file, counts once. Taken from the
    /// seal at the end of the file, or else counted by walking the headers.
    ///
    /// # Errors
    /// `Checksum`, those of [`Self::next_section`] and [`Self::skip`] where the sections are walked, and the errors of
    /// the file system.
    pub fn sections(&mut self) -> Result<u64> {
        self.session.operate(|state| state.lookup().sections())
    }

    /// Moves to the section of this number, from 0, whose header is read next.
    ///
    /// In a file that ends with a seal, this takes a few small reads. Otherwise the headers before it are
    /// walked, starting from the last one that was walked before. A row of the index is compared with its
    /// neighbours and with the section's header before it is used.
    ///
    /// # Errors
    /// `Argument` if the file has fewer sections; `Checksum`, at the offset of the row, if a row of the index
    /// does not match its section; those of [`Self::sections`].
    pub fn seek_section(&mut self, number: u64) -> Result<()> {
        self.session.operate(|state| state.lookup().seek_section(number))
    }

    /// The header of the section of this number, as [`Self::seek_section`] and [`Self::next_section`] read
    /// it; a compressed section is decoded. `None` if the file has fewer sections. The section being read
    /// stays current.
    ///
    /// # Errors
    /// Those of these two calls, except `Argument`.
    pub fn section(&mut self, number: u64) -> Result<Option<Section>> {
        let found = self.session.operate(|state| state.lookup().section(number))?;
        Ok(self.session.state().and_then(|state| state.sections.header()).copied().filter(|_| found))
    }

    /// The number of a section with this user string. Record 0 is the first, 1 the next, and so on; −1 is the
    /// last, −2 the one before it. `None` if there is no such record. The section being read stays current.
    ///
    /// In a file that ends with a seal, the hash of the user string locates it in an index, so the number of
    /// reads grows with the number of seals, not of sections. Rows are compared as in [`Self::seek_section`].
    /// The checksum of an index of up to 4096 rows is verified once, before it is used. In a larger one, the
    /// rows beside the one found are compared, so that no single damaged row leads to another section; its
    /// checksum is verified before the section is reported missing.
    ///
    /// # Errors
    /// `Checksum`, and the errors of [`Self::sections`].
    ///
    /// ```
    /// # use scda::{Encode, ReadOptions, Reader, Solo, Source, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("series.scda");
    /// let mut params = WriteOptions::default();
    /// params.seal = true;
    /// let mut file = Writer::create(Solo, &path, b"", &params)?;
    /// for step in 0..5_u64 {
    ///     file.block(b"time", 0, 8, Some(&step.to_le_bytes()), Encode::None)?;
    ///     file.block(b"energy", 0, 8, Some(&[0; 8]), Encode::None)?;
    /// }
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// assert_eq!((file.sections()?, file.find(b"time", -1)?, file.find(b"pressure", 0)?), (10, Some(8), None));
    /// file.seek_section(8)?;
    /// let last = file.next_section(true)?.expect("a section");
    /// assert_eq!(&*last.user, b"time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(&mut self, user: &[u8], record: i64) -> Result<Option<u64>> {
        self.session.operate(|state| state.lookup().find(user, record))
    }

    /// The numbers of all sections with this user string, in order. In a sealed file, the checksum of each
    /// index, or of the table of names that replaces it, is verified once, and no header is read. Otherwise
    /// all headers are read.
    ///
    /// # Errors
    /// The errors of [`Self::find`].
    pub fn find_all(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        self.session.operate(|state| state.lookup().find_all(user))
    }
}
