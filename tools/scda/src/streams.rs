//! Sets of streams of tasks (docs/streams.md): found and printed.

use crate::datasets::LAST_RECORD;
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::formats::{DataFormat, DataPrinter};
use crate::output::{self, complain};
use crate::select::Selection;
use scda::{Content, Entry, Reader, Stream, Streams};
use scda_base::numbers::to_usize;
use std::ops::Range;

/// The bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Finds the set of streams that the arguments name.
pub fn find(
    reader: &mut Reader,
    input: &Input,
    selection: &Selection,
    record: Option<i64>,
) -> Result<Streams> {
    let mut found = Vec::new();
    for entry in reader.entries() {
        let Entry { content, number, sections, record, .. } = entry?;
        // Numbers are counted from 1; that of any section of the first part names the set.
        let mut numbers = number + 1..number + 1 + sections.len() as u64;
        match content {
            Content::Streams(streams) if numbers.any(|n| selection.has(n, streams.name(), true)) => {
                found.push((*streams.name(), record));
            }
            Content::Unknown(error) => complain(&error.to_string()),
            _ => {}
        }
    }
    let count = found.len() as u64;
    let trouble = |words: String| Err(Fail::file(input.name(), words));
    if count == 0 {
        return trouble(format!("{selection}: found no such set of streams"));
    }
    if record.is_none() && found.iter().any(|(name, _)| *name != found[0].0) {
        return trouble(format!("{selection}: found {count} sets of streams; --record says which"));
    }
    let record = record.unwrap_or(LAST_RECORD);
    let place = u64::try_from(record).ok().or(count.checked_sub(record.unsigned_abs()));
    let Some(place) = place.filter(|&place| place < count) else {
        return trouble(format!("--record {record}: found {count} of that name"));
    };
    let (name, record) = found[to_usize(place)];
    // Also an error if another section has the name: it may be what damage has left of a part.
    let streams = reader.streams_record(&name, i64::try_from(record).unwrap_or(i64::MAX))?;
    streams.map_or_else(|| trouble("has changed meanwhile".to_owned()), Ok)
}

/// Hands out bytes of a stream in pieces.
pub fn each_piece(
    reader: &mut Reader,
    stream: &Stream,
    range: Range<u64>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut data, mut from) = (Vec::new(), range.start);
    while from < range.end {
        data.resize(to_usize((range.end - from).min(PIECE_BYTES)), 0);
        stream.read(reader, from, &mut data)?;
        each(&data)?;
        from += data.len() as u64;
    }
    Ok(())
}

/// Prints bytes of the stream of a task.
pub fn print(
    reader: &mut Reader,
    input: &Input,
    streams: &Streams,
    task: u64,
    range: impl FnOnce(u64) -> Result<Range<u64>>,
) -> Result<()> {
    let tasks = streams.tasks();
    if task >= tasks {
        let words = format_args!("--stream {task}: there are {tasks} streams, from 0 to {}", tasks - 1);
        return Err(Fail::file(input.name(), words));
    }
    let stream = streams.stream(reader, task)?;
    let range = range(stream.bytes())?;
    let mut out = output::Output::new()?;
    let (start, mut show) = (range.start, None);
    let result = each_piece(reader, &stream, range, |data| {
        let format = DataFormat::usual(data, out.is_terminal());
        show.get_or_insert_with(|| DataPrinter::of_bytes(format, start)).bytes(&mut out, data)
    });
    show.map_or(Ok(()), |show| show.finish(&mut out))?;
    out.finish()?;
    result
}
