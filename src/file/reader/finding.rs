//! The methods of `Reader` that find sections.

use super::{Reader, Section};
use scda_base::error::Result;

impl Reader {
    /// Where in the file the header of the next section is, in bytes; as long as data of a section are
    /// expected, where that section begins. Not collective. `None` after an error.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.session.state().map(|state| state.sections.position())
    }

    /// Goes to a section, whose header is read next; or to the end of the file.
    ///
    /// `offset` is a [`Section::offset`](crate::Section::offset) or a [`Self::position`]. At another one the headers that follow
    /// are likely, though not certain, to be errors.
    ///
    /// # Errors
    /// `Argument` if the offset is not in the file.
    pub fn seek(&mut self, offset: u64) -> Result<()> {
        self.session.operate(|state| state.sections().seek(offset))
    }

    /// The number of sections; a compressed section, of two in the file, counts once. From the seal at the end of the
    /// file, or else by walking through the headers.
    ///
    /// # Errors
    /// `Checksum`, those of [`Self::next_section`] and [`Self::skip`] where the sections are walked, and the errors of
    /// the file system.
    pub fn sections(&mut self) -> Result<u64> {
        self.session.operate(|state| state.lookup().sections())
    }

    /// Goes to the section of this number, from 0, whose header is read next.
    ///
    /// With a seal at the end of the file, some small reads lead there; else the headers before it, from the last one that
    /// was walked, which is remembered. A row of the index is compared with those beside it and with the header of the section
    /// before it is used.
    ///
    /// # Errors
    /// `Argument` if the file has fewer sections; `Checksum` at the offset of the row of the index if it is not that of the
    /// section; and those of [`Self::sections`].
    pub fn seek_section(&mut self, number: u64) -> Result<()> {
        self.session.operate(|state| state.lookup().seek_section(number))
    }

    /// The header of the section of this number, as [`Self::seek_section`] and [`Self::next_section`] read it; a compressed section
    /// appears as what was compressed. `None` if the file has fewer sections, and the section that is being read stays.
    ///
    /// # Errors
    /// Those of the two, but not `Argument`.
    pub fn section(&mut self, number: u64) -> Result<Option<Section>> {
        let found = self.session.operate(|state| state.lookup().section(number))?;
        Ok(self.session.state().and_then(|state| state.sections.header()).copied().filter(|_| found))
    }

    /// The number of a section with this user string: the first one for the record 0, the next for 1, and so on; the
    /// last for −1, the one before the last for −2. `None` if there is no such record. The section that is being read stays.
    ///
    /// With a seal at the end of the file, the hash of the user string tells where it is in an index: the number of reads does not grow
    /// with the number of sections, but with that of seals. A row is compared as in [`Self::seek_section`]. The checksum of an index is compared, once, before
    /// it is used if it has no more than 4096 rows. If it has more, the rows beside the one that was found are compared, so that
    /// no single damaged row leads to another section, and the checksum before the index says that a section is not there.
    ///
    /// # Errors
    /// `Checksum`, and those of [`Self::sections`].
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

    /// The numbers of all sections with this user string, in order. In a sealed file the checksum of each index, or of the table of
    /// names in its place, is compared, once, and no header is read; without a seal all headers are.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_all(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        self.session.operate(|state| state.lookup().find_all(user))
    }
}
