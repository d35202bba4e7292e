//! Finds differences between sets of streams. Their division into parts and chunks does not matter.

use super::report::Location;
use crate::fail::Result;
use crate::progress;
use crate::streams::each_batch;
use scda::{Reader, Stream, Streams};
use scda_base::numbers::to_usize;

/// The bytes that are read at once.
const BATCH_BYTES: u64 = 1 << 20;

/// Compares two sets: the number of streams that differ, and the first difference. With `quiet`, reads nothing after
/// the first difference.
pub fn of_sets(
    at: &Location,
    (a, b): (&Streams, &Streams),
    (in_a, in_b): (&mut Reader, &mut Reader),
    quiet: bool,
) -> Result<Option<String>> {
    let name = at.words("streams", a.name());
    let (x, y) = (a.tasks(), b.tasks());
    if x != y {
        if !quiet {
            read_all(in_a, a)?;
            read_all(in_b, b)?;
        }
        return Ok(Some(format!("{name}: {x} streams | {y} streams")));
    }
    let (mut count, mut first) = (0_u64, None);
    for task in 0..x {
        let (x, y) = (a.stream(in_a, task)?, b.stream(in_b, task)?);
        let found = of_streams((&x, &y), (in_a, in_b))?;
        count += u64::from(found.is_some());
        if first.is_none() {
            first = found.map(|found| (task, found));
        }
        if quiet && first.is_some() {
            break;
        }
    }
    Ok(first
        .map(|(task, words)| format!("{name}: {count} of {x} streams differ; first stream {task}: {words}")))
}

/// The first byte that differs, or the lengths if no byte does. Reads all bytes, because damaged ones are a failure.
fn of_streams(
    (x, y): (&Stream, &Stream),
    (in_a, in_b): (&mut Reader, &mut Reader),
) -> Result<Option<String>> {
    let both = x.bytes().min(y.bytes());
    let (mut data, mut other, mut from, mut found) = (Vec::new(), Vec::new(), 0, None);
    while from < both {
        data.resize(to_usize((both - from).min(BATCH_BYTES)), 0);
        other.resize(data.len(), 0);
        x.read(in_a, from, &mut data)?;
        y.read(in_b, from, &mut other)?;
        progress::add(data.len() as u64);
        if found.is_none() && data != other {
            let place = data.iter().zip(&other).position(|(a, b)| a != b).unwrap_or(0);
            let (byte, a, b) = (from + place as u64, data[place], other[place]);
            found = Some(format!("byte {byte}: 0x{a:02x} | 0x{b:02x}"));
        }
        from += data.len() as u64;
    }
    for (reader, stream) in [(in_a, x), (in_b, y)] {
        each_batch(reader, stream, both..stream.bytes(), |_| Ok(()))?;
    }
    if found.is_none() && x.bytes() != y.bytes() {
        let (a, b) = (x.bytes(), y.bytes());
        found = Some(format!("{a} bytes | {b} bytes"));
    }
    Ok(found)
}

/// Reads all streams, because damaged data are not a difference but a failure.
pub fn read_all(reader: &mut Reader, streams: &Streams) -> Result<()> {
    for task in 0..streams.tasks() {
        let stream = streams.stream(reader, task)?;
        each_batch(reader, &stream, 0..stream.bytes(), |_| Ok(()))?;
    }
    Ok(())
}
