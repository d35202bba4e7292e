//! Caches the metadata of datasets, which those that differ only in name and place share.

use scda_base::error::Result;
use scda_base::memory::copy;
use scda_format::crc;
use scda_format::dataset::check_name;
use scda_format::dataset::json::trimmed;
use scda_format::dataset::parse::KnownMetadata;
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset};
use scda_format::header::SectionType;
use scda_hdf5::DatasetView;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The most metadata that are kept, and the longest.
const MAX_KNOWN: usize = 256;
const MAX_KNOWN_BYTES: usize = 1 << 14;

/// Type, element count and element size of a section with a dataset's data, and whether it is compressed.
pub type SectionKey = (SectionType, u64, u64, bool);

/// The metadata of datasets.
pub struct Metadata {
    /// The text; empty if it is long.
    pub text: Arc<[u8]>,
    pub section: SectionKey,
    pub stored: StoredDataset,
    /// What HDF5 shows of a dataset with them, once that is known.
    pub shown: OnceLock<DatasetView>,
}

impl Metadata {
    /// Parses metadata at offset `at`, and keeps `kept` as their text.
    ///
    /// # Errors
    /// Those of [`StoredDataset::new`].
    pub fn parse(text: &[u8], kept: Arc<[u8]>, at: u64, section: DataSection<'_>) -> Result<Self> {
        let stored = StoredDataset::new(&mut KnownMetadata::default(), text, at, section)?;
        Ok(Self { text: kept, section: key(&section), stored, shown: OnceLock::new() })
    }
}

fn key(&DataSection { section_type, count, size, is_compressed, .. }: &DataSection<'_>) -> SectionKey {
    (section_type, count, size, is_compressed)
}

/// The metadata that were read before.
#[derive(Default)]
pub struct MetadataCache {
    /// By the hash of the text. Not a hash table, because leak checkers do not find what it refers to.
    known: BTreeMap<u64, Arc<Metadata>>,
    /// Those of the last dataset, which most datasets have, too.
    last: Option<Arc<Metadata>>,
}

impl MetadataCache {
    /// The metadata with this text, at offset `at`, of a dataset whose data are in this section.
    ///
    /// # Errors
    /// Those of [`StoredDataset::new`]; `Memory`.
    pub fn get(&mut self, text: &[u8], at: u64, section: DataSection<'_>) -> Result<Arc<Metadata>> {
        let trimmed = trimmed(text);
        let is_it = |known: &&Arc<Metadata>| known.section == key(&section) && *known.text == *trimmed;
        let known = self.last.as_ref().filter(is_it);
        let known = known.or_else(|| self.known.get(&crc::of(trimmed)).filter(is_it));
        // The name is not a part of the text.
        let is_name = || std::str::from_utf8(section.user).is_ok_and(|name| check_name(name).is_ok());
        if let Some(known) = known.filter(|_| is_name()).cloned() {
            self.last = Some(Arc::clone(&known));
            return Ok(known);
        }
        if trimmed.len() > MAX_KNOWN_BYTES {
            return Ok(Arc::new(Metadata::parse(text, Arc::default(), at, section)?));
        }
        let metadata = Arc::new(Metadata::parse(text, copy(trimmed)?.into(), at, section)?);
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(crc::of(trimmed), Arc::clone(&metadata));
        self.last = Some(Arc::clone(&metadata));
        Ok(metadata)
    }
}
