//! Hostile files with streams of tasks.

use super::Scratch;
use super::input::Input;
use super::reading::MEMORY_OF_A_RANK;
use crate::common::options;
use crate::memory;
use crate::naive::{Found, Naive, count};
use scda::{
    Communicator, Encode, ErrorKind, ReadOptions, Reader, Result, Solo, WriteOptions, Writer, run_on_threads,
};
use std::path::Path;
use std::sync::OnceLock;

/// The name of the sets.
const NAME: &[u8] = b"s";
const TASKS: usize = 3;
/// No more of each stream is read.
const MOST_BYTES: u64 = 1 << 16;
/// No more streams are read.
const MOST_TASKS: u64 = 64;

/// Two sets, and a section; the first set has two parts if the file is sealed.
fn template(seal: bool) -> &'static [u8] {
    static FILES: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(seal)].get_or_init(|| {
        let scratch = Scratch::new();
        let mut params: WriteOptions = options();
        params.seal = seal;
        for written in run_on_threads(TASKS, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm, &scratch.0, b"streams", &params)?;
            file.begin_streams(NAME, 16)?;
            file.write_stream(&b"some text of more than a chunk"[..10 * rank])?;
            if seal {
                file.commit()?;
            }
            file.write_stream(&[b'0' + rank as u8; 20])?;
            file.end_streams()?;
            file.block(b"between", 0, 3, Some(b"abc"), Encode::None)?;
            file.begin_streams(NAME, 7)?;
            file.write_stream(b"second")?;
            file.end_streams()?;
            file.close()
        }) {
            written.unwrap();
        }
        std::fs::read(&scratch.0).unwrap()
    })
}

/// The bytes of each stream that is read, set by set.
type Sets = Vec<Vec<Vec<u8>>>;

/// A file, or changes of the template: how many bytes are missing at its end, then places and bytes.
pub fn streams(input: &[u8]) {
    let mut input = Input(input);
    let file = match input.byte() % 3 {
        0 => input.0.to_vec(),
        how => {
            let mut file = template(how == 2).to_vec();
            let cut = [0, 0, 32, input.below(1000)][input.below(4)];
            file.truncate(file.len().saturating_sub(cut));
            while !input.0.is_empty() {
                let at = input.below(file.len());
                file[at] = input.byte();
            }
            file
        }
    };
    let scratch = Scratch::with(&file);
    let limit = MEMORY_OF_A_RANK + 8 * file.len();
    let found = [false, true].map(|to_seal| {
        let (peak, alone) = memory::peak(|| read(Solo, &scratch.0, to_seal));
        assert!(peak <= limit, "{peak} bytes of memory for a file of {}", file.len());
        for found in &run_on_threads(2, |comm| read(comm, &scratch.0, to_seal)) {
            assert!(*found == alone, "{found:?} on 2 ranks, {alone:?} on one");
        }
        alone
    });
    if let [Ok((_, all)), Ok((_, sealed))] = &found {
        assert!(is_beginning(sealed, all), "{sealed:?} up to the last seal, {all:?} in all");
    }
    let [alone, _] = found;
    let Some(expected) = naive(&file) else { return };
    match alone {
        Ok((_, found)) => assert!(found == expected, "{found:?}, expected {expected:?}"),
        // A file whose seals are damaged may have sections that are whole.
        Err(kind) => assert!(file.windows(12).any(|text| text == b"scda seal 00"), "{kind:?}"),
    }
}

/// Whether the streams are those with which `all` begin; the last set may lack its last parts.
fn is_beginning(streams: &Sets, all: &Sets) -> bool {
    streams.len() <= all.len()
        && streams.iter().flatten().zip(all.iter().flatten()).all(|(some, all)| all.starts_with(some))
}

/// Whether the file is sealed, and its streams, all or those up to the last seal, or why they cannot be read.
fn read(comm: impl Communicator + 'static, path: &Path, to_seal: bool) -> Result<(bool, Sets), ErrorKind> {
    read_all(comm, path, to_seal).map_err(|error| {
        assert!(error.to_string().contains("scda-fuzz"), "{error}");
        error.kind()
    })
}

fn read_all(comm: impl Communicator + 'static, path: &Path, to_seal: bool) -> Result<(bool, Sets)> {
    let mut params: ReadOptions = options();
    params.to_seal = to_seal;
    let mut file = Reader::open(comm, path, &params)?;
    let is_sealed = file.is_sealed();
    let mut sets = Sets::new();
    for record in 0.. {
        let Some(streams) = file.streams_record(NAME, record)? else { break };
        let mut set = Vec::new();
        for task in 0..streams.tasks().min(MOST_TASKS) {
            let stream = streams.stream(&mut file, task)?;
            let mut data = vec![0; stream.bytes().min(MOST_BYTES) as usize];
            // The second half first.
            let (first, second) = data.split_at_mut(stream.bytes().min(MOST_BYTES) as usize / 2);
            stream.read(&mut file, first.len() as u64, second)?;
            stream.read(&mut file, 0, first)?;
            let beyond = stream.read(&mut file, stream.bytes(), &mut [0]).unwrap_err();
            assert_eq!(beyond.kind(), ErrorKind::Argument);
            set.push(data);
        }
        sets.push(set);
    }
    // From the back the same are found.
    for (record, set) in (1..).zip(sets.iter().rev()) {
        let streams = file.streams_record(NAME, -record)?.expect("a set");
        assert_eq!(streams.tasks().min(MOST_TASKS), set.len() as u64);
        assert_eq!(streams.stream(&mut file, 0)?.bytes().min(MOST_BYTES), set[0].len() as u64);
    }
    Ok((is_sealed, sets))
}

/// The streams by the letter of docs/streams.md; `None` if anything is wrong, or too large for that.
fn naive(file: &[u8]) -> Option<Sets> {
    let outcome = Naive { file, decode: true }.read();
    if !outcome.complete {
        return None;
    }
    // Of each part: number, tasks, bytes of a chunk, and what each task has.
    let mut sets: Vec<(u64, u64, u64, Vec<Vec<u8>>)> = Vec::new();
    let sections = &outcome.sections;
    for (at, chunks) in sections.iter().enumerate().filter(|(_, section)| section.user == NAME) {
        let (block, lengths) = (sections.get(at.checked_sub(1)?)?, sections.get(at + 1)?);
        let is = |section: &Found, letter, user: &[u8]| {
            section.letter == letter && !section.decoded && section.user == user
        };
        let text = block.data.as_ref()?;
        if !is(block, b'B', b"scda streams 00") || !(96..=96 + (1 << 20)).contains(&text.len()) {
            return None;
        }
        let number = |at: usize, letter| count(&text[32 * at..32 * at + 32], letter);
        let (tasks, chunk, part) = (number(0, b'P')?, number(1, b'C')?, number(2, b'K')?);
        let is_chunks = is(chunks, b'A', NAME) && chunks.size == chunk;
        let is_lengths = is(lengths, b'A', b"scda stream bytes 00") && lengths.size == 32;
        let in_range = tasks > 0 && (1..=1 << 30).contains(&chunk);
        if !in_range || !is_chunks || !is_lengths || chunks.count % tasks != 0 || lengths.count != tasks {
            return None;
        }
        let (data, entries) = (chunks.data.as_ref()?, lengths.data.as_ref()?);
        let mut streams = Vec::new();
        for (task, entry) in entries.chunks(32).enumerate() {
            let bytes = count(entry, b'U')?;
            if bytes > chunks.count / tasks * chunk {
                return None;
            }
            let place = |byte: u64| (byte / chunk * tasks + task as u64) * chunk + byte % chunk;
            streams.push((0..bytes).map(|byte| data[place(byte) as usize]).collect::<Vec<u8>>());
        }
        match sets.last_mut() {
            _ if part == 0 => sets.push((0, tasks, chunk, streams)),
            Some((last, same_tasks, same_chunk, set)) => {
                if (*last + 1, *same_tasks, *same_chunk) != (part, tasks, chunk) {
                    return None;
                }
                *last = part;
                set.iter_mut().zip(streams).for_each(|(all, more)| all.extend(more));
            }
            None => return None,
        }
    }
    let cut = |mut data: Vec<u8>| {
        data.truncate(MOST_BYTES as usize);
        data
    };
    let of_set = |set: Vec<Vec<u8>>| set.into_iter().take(MOST_TASKS as usize).map(cut).collect();
    Some(sets.into_iter().map(|(_, _, _, set)| of_set(set)).collect())
}
