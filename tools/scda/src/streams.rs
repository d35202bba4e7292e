//! Finds and prints sets of streams of tasks as a whole (docs/streams.md).

use crate::datasets::LAST_RECORD;
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::formats::{DataFormat, DataPrinter};
use crate::output::{self, visible};
use scda::{Reader, Stream, Streams};
use scda_base::numbers::to_usize;
use std::ops::Range;

/// The bytes that are read at once.
const BATCH_BYTES: u64 = 1 << 20;

/// The set of streams of this name; of several, the one with this number, by default the last one.
pub fn find(reader: &mut Reader, input: &Input, name: &str, record: Option<i64>) -> Result<Streams> {
    let found = reader.streams_record(name.as_bytes(), record.unwrap_or(LAST_RECORD))?;
    found.ok_or_else(|| {
        let record = record.map_or(String::new(), |record| format!(", record {record}"));
        Fail::file(input.name(), format_args!("there are no streams \"{}\"{record}", visible(name)))
    })
}

/// Calls a function with bytes of a stream, batch by batch.
pub fn each_batch(
    reader: &mut Reader,
    stream: &Stream,
    range: Range<u64>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut data, mut from) = (Vec::new(), range.start);
    while from < range.end {
        data.resize(to_usize((range.end - from).min(BATCH_BYTES)), 0);
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
        let found = match tasks.checked_sub(1) {
            Some(last) => format!("{tasks} streams, from 0 to {last}"),
            None => "no streams".to_owned(),
        };
        return Err(Fail::file(input.name(), format_args!("--stream {task}: there are {found}")));
    }
    let stream = streams.stream(reader, task)?;
    let range = range(stream.bytes())?;
    let mut out = output::Output::new()?;
    let mut show = None;
    let result = each_batch(reader, &stream, range, |data| {
        let show = match &mut show {
            Some(show) => show,
            none => none.insert(DataPrinter::of_bytes(DataFormat::usual(&out, streams.name(), data)?)),
        };
        show.bytes(&mut out, data)
    });
    show.map_or(Ok(()), |show| show.finish(&mut out))?;
    out.finish()?;
    result
}
