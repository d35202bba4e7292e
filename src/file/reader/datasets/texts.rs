//! Reads items of variable length.

use super::chunks::ChunkRequests;
use super::handle::DatasetHandle;
use super::selection::{OpenDataset, Selection};
use super::{BoxReader, DatasetReader};
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::{Failure, Function, split};
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_codec::chunk::ChunkDecoder;
use scda_codec::texts::parse;
use scda_format::dataset::{DataType, IndexBox};
use scda_format::layout::sum;
use std::ops::Range;

impl DatasetReader<'_> {
    /// See [`DatasetHandle::read_texts`]. The selection may be an error of this rank.
    pub(crate) fn read_texts(
        &mut self,
        handle: &DatasetHandle,
        regions: Result<&[IndexBox]>,
    ) -> Result<Texts, Failure> {
        self.team().note_call(Function::ReadTexts);
        let open = self.use_handle(handle)?;
        let _limited = self.limit_memory(open);
        let texts = self.alone(|this| Ok(this.boxes().texts(open, regions?)?));
        let (texts, mine) = split(texts);
        self.team().agree(mine)?;
        Ok(texts)
    }
}

impl BoxReader<'_> {
    /// Reads the items of this rank's boxes.
    fn texts(&mut self, open: &OpenDataset, regions: &[IndexBox]) -> Result<Texts> {
        let (parts, starts) = Selection::of_sections(0, open, regions)?;
        let dataset = &open.stored.dataset;
        let data_type = dataset.data_type;
        if !data_type.is_variable() {
            return Err(Error::argument(format!(
                "dataset \"{}\": found {data_type}, expected items of variable length",
                dataset.name
            )));
        }
        // For each item, which of the chunks that were read has it, and where there. Number 0 is the fill
        // value.
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        resize(&mut places, starts[regions.len()] / DataType::LENGTH_BYTES)?;
        let mut chunks: Vec<Vec<u8>> = vec![dataset.fill_value.clone()];
        let fill = (0, 0..chunks[0].len());
        places.fill(fill);
        let mut decoder = ChunkDecoder::new(self.sections.params().strict);
        for mut part in parts {
            for want in ChunkRequests::new(&part)? {
                let Some(present) = self.locate(&mut part, want.chunk)? else { continue };
                self.fetch(&part, present, &mut decoder, &mut [])?;
                let chunk = part.decode_texts(present, &mut decoder)?;
                let items = part.stored.grid.chunk_bytes() / DataType::LENGTH_BYTES;
                let found = parse(&chunk, items, data_type)?;
                let found = found.map_err(|what| part.damaged(want.chunk, present.at, &what))?;
                reserve(&mut chunks, 1)?;
                for run in part.wanted_runs(&want) {
                    let [from, to, count] =
                        [run.from, run.to, run.items].map(|bytes| to_usize(bytes / DataType::LENGTH_BYTES));
                    for (place, item) in places[to..to + count].iter_mut().zip(&found[from..from + count]) {
                        *place = (chunks.len(), item.clone());
                    }
                }
                chunks.push(chunk);
            }
        }
        let total = places.iter().try_fold(0, |all, (_, item)| sum(all, item.len() as u64));
        let total = total.ok_or_else(|| Error::range("boxes: the number of bytes exceeds 63 bits"))?;
        let mut texts = Texts::new();
        texts.reserve(places.len(), to_usize(total))?;
        for (chunk, item) in places {
            texts.push(&chunks[chunk][item])?;
        }
        Ok(texts)
    }
}
