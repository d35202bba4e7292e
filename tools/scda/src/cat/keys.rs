//! The key-value records of a SIONlib file that was imported (docs/tools.md): a list of them, and their values in the streams.

use super::{Args, one_record};
use crate::datasets::box_parts::{self, BoxParts};
use crate::datasets::{LAST_RECORD, Pair, Walk, dataset_at};
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::formats::{DataFormat, DataPrinter};
use crate::output::{Output, escape};
use crate::ranges::within;
use crate::streams::each_piece;
use scda::{DataType, IndexBox, Reader, Section, SectionType, Stream, Streams};
use scda_base::numbers::to_usize;

/// The name of the list of the records.
const RECORDS: &str = "sion/records";
/// The name of the streams that they are in, which follow it.
const STREAMS: &[u8] = b"sion/streams";

/// Streams, and the metadata of the list of their records.
#[derive(Clone, Copy)]
struct KeyedStreams {
    streams: Section,
    records: Option<Section>,
}

/// The streams that the argument means, all of one name.
fn find(input: &Input, args: &Args) -> Result<KeyedStreams> {
    let (mut reader, mut walk) = (input.open_damaged(false)?, Walk::new(input, false));
    let (mut all, mut records) = (Vec::new(), None);
    while let Some(item) = walk.next(&mut reader)? {
        let Section { section_type, user, .. } = item.section;
        match &item.pair {
            Some(Pair::Dataset(found)) if found.dataset.name == RECORDS => records = Some(found.block),
            None if section_type == SectionType::Varray && *user == *STREAMS => {
                let found = KeyedStreams { streams: item.section, records: records.take() };
                if args.section.has(item.number, &user, false) {
                    all.push(found);
                }
            }
            _ => {}
        }
        item.skip(&mut reader)?;
    }
    let trouble = |words: String| Fail::file(input.name(), words);
    let record = one_record(args, "--key and --keys")?.unwrap_or(LAST_RECORD);
    let place = match all.len() {
        0 => return Err(trouble(format!("there are no streams \"{}\"", escape(STREAMS)))),
        count => {
            let end = record.checked_add(1).filter(|&end| end != 0);
            let range = within((Some(record), end), count as u64);
            let range =
                range.ok_or_else(|| trouble(format!("--record {record}: found {count} of that name")))?;
            to_usize(range.start)
        }
    };
    Ok(all[place])
}

/// A row of the list.
struct Record {
    task: u64,
    key: u64,
    offset: u64,
    bytes: u64,
}

/// Prints lines of records, or the bytes of their values.
struct RecordPrinter<'a> {
    reader: Reader,
    streams: Streams,
    /// The stream of the last task.
    now: Option<(u64, Stream)>,
    out: Output,
    input: &'a Input,
    lines: bool,
    show: Option<DataPrinter>,
}

impl RecordPrinter<'_> {
    fn print(&mut self, record: &Record) -> Result<()> {
        let Record { task, key, offset, bytes } = *record;
        let stream = match self.now.take() {
            Some((of, stream)) if of == task => stream,
            _ if task < self.streams.tasks() => self.streams.stream(&mut self.reader, task)?,
            _ => return Err(self.wrong(record, self.streams.tasks(), "tasks")),
        };
        let end = offset.checked_add(bytes).filter(|&end| end <= stream.bytes());
        let end = end.ok_or_else(|| self.wrong(record, stream.bytes(), "bytes of its stream"))?;
        let (out, show) = (&mut self.out, &mut self.show);
        if self.lines {
            out.text(format_args!("{task} {key} {bytes} \""))?;
            // A piece may end within a character.
            let mut rest = Vec::new();
            each_piece(&mut self.reader, &stream, offset..end, |data| {
                rest.extend_from_slice(data);
                let cut = rest.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
                let left = rest.split_off(rest.len() - cut.min(3));
                out.text(format_args!("{}", escape(&rest)))?;
                rest = left;
                Ok(())
            })?;
            out.text(format_args!("{}\"\n", escape(&rest)))?;
        } else {
            each_piece(&mut self.reader, &stream, offset..end, |data| {
                let format = DataFormat::usual(data, out.is_terminal());
                show.get_or_insert_with(|| DataPrinter::of_bytes(format, 0)).bytes(out, data)
            })?;
        }
        self.now = Some((task, stream));
        Ok(())
    }

    fn wrong(&self, record: &Record, most: u64, what: &str) -> Fail {
        let Record { task, key, offset, bytes } = record;
        let name = self.input.name();
        Fail::Invalid(format!(
            "{name}: {RECORDS}: a record of task {task}, key {key}, has {bytes} bytes from {offset} on, beyond {most} {what}"
        ))
    }
}

/// Prints the records that the arguments mean.
pub fn print(input: &Input, args: &Args) -> Result<()> {
    let found = find(input, args)?;
    let trouble = |words: &str| Fail::file(input.name(), words);
    let none = "no list \"sion/records\" stands before the streams: the file that was imported had no key-value records";
    let block = found.records.ok_or_else(|| trouble(none))?;
    let mut reader = input.open_damaged(false)?;
    let streams = reader.inspect().varray_streams(found.streams.offset)?.ok_or_else(|| {
        trouble("the streams are compressed: scda copy --decode writes a file whose records can be read")
    })?;
    if let Some(task) = args.stream.filter(|&task| task >= streams.tasks()) {
        let tasks = streams.tasks();
        return Err(trouble(&format!("--stream {task}: there are {tasks} streams")));
    }
    let mut list = input.open_damaged(false)?;
    let dataset = dataset_at(&mut list, block.offset)?.filter(|dataset| {
        dataset.data_type == DataType::Uint64
            && matches!(dataset.shape[..], [_, 4])
            && dataset.unsupported.is_none()
    });
    let dataset = dataset
        .ok_or_else(|| trouble("sion/records is not a dataset of the type uint64 with four columns"))?;
    let lines = args.keys;
    let mut values =
        RecordPrinter { reader, streams, now: None, out: Output::new()?, input, lines, show: None };
    let (mut data, mut is_any) = (Vec::new(), false);
    let mut each = || -> Result<()> {
        for slab in BoxParts::new(&dataset, IndexBox::all(&dataset.shape)) {
            box_parts::read(&mut list, &dataset, &slab, &mut data)?;
            for row in data.as_chunks().0.as_chunks::<4>().0 {
                let [task, key, offset, bytes] = row.map(u64::from_ne_bytes);
                if args.stream.is_none_or(|only| only == task) && args.key.is_none_or(|only| only == key) {
                    is_any = true;
                    values.print(&Record { task, key, offset, bytes })?;
                }
            }
        }
        Ok(())
    };
    let result = each();
    if let Some(show) = values.show.take() {
        show.finish(&mut values.out)?;
    }
    values.out.finish()?;
    result?;
    match (is_any, args.key) {
        (false, Some(key)) => {
            let of = args.stream.map(|task| format!(" of task {task}")).unwrap_or_default();
            Err(trouble(&format!("--key {key}: there is no record{of} with this key")))
        }
        _ => Ok(()),
    }
}
