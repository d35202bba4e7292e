//! Decodes what no seal covers before it goes into a sealed file, whose seal would make damage look valid.

use super::additions::{AdditionsCheck, Rows};
use super::decoding::undecodable;
use super::finding::{Finding, Scan};
use super::walk::walk;
use crate::datasets::{Found, Item, dataset_at};
use crate::fail::Result;
use crate::files::Input;
use crate::progress::Progress;
use scda::{Reader, Section};

/// Two readers of the file.
pub struct UnsealedReaders {
    reader: Reader,
    /// Reads the data of a dataset.
    of_datasets: Reader,
}

impl UnsealedReaders {
    /// # Errors
    /// Those of opening the file.
    pub fn new(input: &Input) -> Result<Self> {
        Ok(Self { reader: input.open_damaged(true)?, of_datasets: input.open_damaged(true)? })
    }

    /// What is wrong with a section, if it is compressed; one that is not has nothing to decode.
    ///
    /// # Errors
    /// Those that say nothing about the file.
    pub fn section(
        &mut self,
        number: u64,
        section: &Section,
        progress: &mut Progress,
    ) -> Result<Option<Finding>> {
        if !section.decoded {
            return Ok(None);
        }
        let mut scan = Scan { sections: number - 1, ..Scan::new(0) };
        let begin = section.offset;
        walk(&mut self.reader, &mut scan, progress, begin, begin + 1)?;
        Ok(scan.findings.pop())
    }

    /// What reads the data of datasets.
    pub fn of_datasets(&mut self) -> &mut Reader {
        &mut self.of_datasets
    }

    /// What is wrong with rows that were added to a dataset; see [`AdditionsCheck::check_rows`].
    ///
    /// # Errors
    /// Those that say nothing about the file.
    pub fn rows(
        &mut self,
        later: &mut AdditionsCheck,
        item: &Item,
        rows: &Rows,
        decodes: bool,
    ) -> Result<Option<Finding>> {
        later.check_rows((&mut self.of_datasets, &mut self.reader), item, rows, (true, decodes))
    }

    /// What is wrong with the items of a dataset, the last section of which has this number.
    ///
    /// # Errors
    /// Those that say nothing about the file.
    pub fn dataset(&mut self, number: u64, found: &Found) -> Result<Option<Finding>> {
        if found.dataset.unsupported.is_some() {
            return Ok(None);
        }
        // A handle is read by the reader that has opened it.
        let Some(handle) = dataset_at(&mut self.of_datasets, found.block.offset)? else { return Ok(None) };
        undecodable(&mut self.of_datasets, &mut self.reader, number, &handle.into())
    }
}
