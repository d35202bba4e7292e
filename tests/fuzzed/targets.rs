//! What the fuzzers do with their input. Each function takes any bytes and panics if the library errs.
//!
//! Used by `fuzz/`, where libFuzzer makes up the bytes, and by `main.rs` beside this file, which repeats with an ordinary
//! `cargo test` what was found.

use crate::common::seal::{entry, padding};
use crate::common::{Data, Model, ModelSection, Rng, Want, read, write};
use crate::memory;
use crate::naive::{self, Found, MOST_DATA, Naive};
use scda::internals::index::{INDEX, ROW_BYTES, Row, parse_crc_tail, parse_table_header, sort_rows};
use scda::internals::seal::{SEAL_BYTES, Seal};
use scda::internals::{
    CountFormat, ElementDecoder, ElementEncoder, parse_counts, parse_file_header, parse_section_header,
};
use scda::{
    Communicator, Encode, Encoder, ErrorKind, LineBreak, Params, Reader, Result, SectionType, SharedMemory,
    Sink, Solo, run_on_threads,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes any bytes.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const ALL: [(&str, Target); 9] = [
    ("parsers", parsers),
    ("codec_decode", codec_decode),
    ("codec_round_trip", codec_round_trip),
    ("read_raw", read_raw),
    ("read_decoded", read_decoded),
    ("read_ranks", read_ranks),
    ("round_trip", round_trip),
    ("partitions", partitions),
    ("seals", seals),
];

/// What a reader of one rank may have in memory besides a few times the file: its window and its batches.
const MEMORY_OF_A_RANK: usize = 5 << 20;

/// A file of this process in memory, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let shm = Path::new("/dev/shm");
        let folder = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(folder.join(format!("scda-fuzz-{}-{number}.scda", std::process::id())))
    }

    fn with(bytes: &[u8]) -> Self {
        let this = Self::new();
        std::fs::write(&this.0, bytes).unwrap();
        this
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Ranks of which none sees the memory of another, as on different nodes.
struct Apart<C>(C);

impl<C: Communicator> Communicator for Apart<C> {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.0.allreduce_min(values)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.0.allreduce_sum(values)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.0.exscan_sum(values)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.0.allgather(value)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.0.broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.0.gather(bytes, all)
    }
    #[allow(unsafe_code)] // it shares none
    unsafe fn share_memory(&self, _: usize) -> Result<Option<SharedMemory>> {
        Ok(None)
    }
}

/// Takes an input apart; when it is used up, everything is zero.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number below `n`, which is at most 65536.
    fn below(&mut self, n: usize) -> usize {
        let high = if n > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (high | usize::from(self.byte())) % n
    }

    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn word(&mut self) -> u64 {
        self.take(8).iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    /// `n` bytes: of the input, or made up so that few of it become many that compress more or less.
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        match self.below(5) {
            0 => vec![self.byte(); n],
            1 => Rng(self.word()).bytes(n),
            2 => {
                let period = 1 + self.below(300);
                let pattern = Rng(self.word()).bytes(period);
                pattern.iter().copied().cycle().take(n).collect()
            }
            _ => {
                let mut bytes = self.take(n).to_vec();
                bytes.resize(n, b'\n');
                bytes
            }
        }
    }

    /// How many bytes: mostly few.
    fn length(&mut self) -> usize {
        match self.below(16) {
            15 => self.below(65536) * 2,
            12..=14 => self.below(4000),
            9..=11 => 57 * self.below(60),
            _ => self.below(100),
        }
    }

    fn params(&mut self) -> Params {
        let mut params = Params::default();
        params.line_break = [LineBreak::Unix, LineBreak::Mime][self.below(2)];
        params.encoder = [Encoder::Fast, Encoder::Zlib][self.below(2)];
        params.level = self.below(10) as u32;
        params.threads = 1 + self.below(3);
        self.access(&mut params);
        params
    }

    /// What does not concern the bytes.
    fn access(&mut self, params: &mut Params) {
        params.aggregation_bytes = [4 << 20, 0, 300, 9000, 40_000, 300_000][self.below(6)];
        params.check = self.below(2) == 0;
    }

    fn model(&mut self) -> Model {
        let n = self.below(59);
        let user = self.take(n).to_vec();
        let mut sections = Vec::new();
        while !self.0.is_empty() && sections.len() < 20 {
            let kind = self.byte();
            // Under Miri there is no library of C to compress with.
            let encode = if cfg!(miri) { 0 } else { kind / 4 % 3 };
            let encode = [Encode::None, Encode::Always, Encode::Auto][usize::from(encode)];
            let n = self.below(59);
            let user = self.take(n).to_vec();
            let data = match kind % 4 {
                0 => Data::Inline(self.bytes(32).try_into().unwrap()),
                1 => {
                    let n = self.length();
                    Data::Block(self.bytes(n))
                }
                2 => {
                    let n = self.below(40);
                    let size = self.length() / n.max(1);
                    Data::Array { size: size as u64, elements: (0..n).map(|_| self.bytes(size)).collect() }
                }
                _ => {
                    let n = self.below(40);
                    let room = 1 + self.length() / n.max(1);
                    let element = |_| {
                        let size = self.below(room);
                        self.bytes(size)
                    };
                    Data::Varray((0..n).map(element).collect())
                }
            };
            let encode = if matches!(data, Data::Inline(_)) { Encode::None } else { encode };
            sections.push(ModelSection { user, data, encode });
        }
        // Memory is shared only when many small sections have waited.
        let times = if user.len() % 4 == 3 { 10 } else { 1 };
        let sections = std::iter::repeat_n(sections, times).flatten().collect();
        Model { vendor: Vec::new(), user, sections }
    }
}

/// A number that any change of the input changes.
fn hash(input: &[u8]) -> u64 {
    input.iter().fold(input.len() as u64, |hash, &byte| Rng(hash ^ u64::from(byte)).next())
}

/// The first 64 bytes of the input as count entries, as a section's header and, with more, a file's.
pub fn parsers(input: &[u8]) {
    let (entries, _) = input.as_chunks::<32>();
    for letter in [b'N', b'E', b'U'] {
        for (index, entry) in entries.iter().enumerate() {
            let mut parsed = None;
            let result = parse_counts(entry, letter, 0, |_, value| {
                parsed = Some(value);
                Ok(())
            });
            let expected = naive::count(entry, letter);
            assert_eq!(result.ok().and(parsed), expected, "{}", entry.escape_ascii());
            if let Some(value) = expected {
                for style in [LineBreak::Unix, LineBreak::Mime] {
                    let formatted = CountFormat::new(letter, style).entry(value);
                    assert_eq!(formatted[..28], entry[..28]);
                    assert_eq!(naive::count(&formatted, letter), Some(value));
                }
            }
            // Any number of them at once must not be told from one after the other.
            let mut values = Vec::new();
            let result = parse_counts(entries[index..].as_flattened(), letter, 0, |at, value| {
                assert_eq!(at, values.len());
                values.push(value);
                Ok(())
            });
            let singly: Vec<Option<u64>> = entries[index..].iter().map(|e| naive::count(e, letter)).collect();
            let good: Vec<u64> = singly.iter().map_while(|value| *value).collect();
            assert_eq!(result.is_ok(), good.len() == singly.len());
            assert_eq!(values, good);
            if let Err(error) = result {
                assert_eq!(error.offset(), Some(32 * good.len() as u64));
            }
        }
    }
    if let Some(header) = input.first_chunk::<64>() {
        let expected =
            naive::undash(&header[2..]).filter(|_| header[1] == b' ' && b"IBAV".contains(&header[0]));
        let parsed = parse_section_header(header);
        assert_eq!(
            parsed.ok().map(|(kind, user)| (kind.letter(), user.to_vec())),
            expected.map(|u| (header[0], u))
        );
    }
    let parsed = parse_file_header(&input[..input.len().min(128)]);
    assert_eq!(parsed.ok().map(|header| header.user.to_vec()), naive::file_user(input));
    // The numbers of the input come back, whatever they are.
    let values: Vec<u64> = input.chunks(8).map(|word| Input(word).word() >> (word[0] % 64)).collect();
    for style in [LineBreak::Unix, LineBreak::Mime] {
        let format = CountFormat::new(b'E', style);
        let mut text = Vec::new();
        format.append(&values, &mut text);
        let one_by_one: Vec<u8> = values.iter().flat_map(|&value| format.entry(value)).collect();
        assert!(text == one_by_one);
        let mut back = Vec::new();
        parse_counts(&text, b'E', 0, |_, value| {
            back.push(value);
            Ok(())
        })
        .unwrap();
        assert_eq!(back, values);
    }
}

/// Hostile text: two bytes say the size of the element, then its text; or a stream that is put into text first.
pub fn codec_decode(input: &[u8]) {
    let mut rest = Input(input);
    let size = rest.below(65536);
    let text = match size % 2 {
        0 => rest.0.to_vec(),
        _ => {
            // A stream of the input in a text of the right form, so that the fuzzer reaches the inflater.
            let raw = [&(size as u64).to_be_bytes()[..], b"z", rest.0].concat();
            let line = |bytes: &[u8]| {
                use base64::Engine;
                base64::engine::general_purpose::STANDARD.encode(bytes) + "=\n"
            };
            raw.chunks(57).map(line).collect::<String>().into_bytes()
        }
    };
    let mut decoder = ElementDecoder::new(false).unwrap();
    let mut out = vec![0xee; size];
    let (peak, result) = memory::peak(|| decoder.decode(&text, &mut out));
    // The harness of the tests, which may report another one meanwhile, takes some KiB at times.
    assert!(peak <= 3 * text.len() + (16 << 10), "{peak} bytes of memory for {} of text", text.len());
    match (result, naive::element(&text, size)) {
        (Ok(()), expected) => assert!(expected.is_some_and(|expected| expected == out), "accepted"),
        (Err(error), expected) => {
            assert_eq!(error.kind(), ErrorKind::Decode);
            assert!(expected.is_none(), "refused: {error}");
        }
    }
    // An error leaves no trace in the decoder.
    let mut good = Vec::new();
    ElementEncoder::new(Encoder::Fast, 1, LineBreak::Unix).unwrap().encode(b"good", &mut good).unwrap();
    let mut out = [0; 4];
    decoder.decode(&good, &mut out).unwrap();
    assert_eq!(&out, b"good");
}

/// Elements go through one encoder and one decoder, and the encoder's state is not seen.
pub fn codec_round_trip(input: &[u8]) {
    let mut input = Input(input);
    let level = input.below(10) as u32;
    let encoder = [Encoder::Fast, Encoder::Zlib][input.below(2)];
    let (style, line_break) = [(LineBreak::Unix, b"=\n"), (LineBreak::Mime, b"\r\n")][input.below(2)];
    let mut shared = ElementEncoder::new(encoder, level, style).unwrap();
    let mut decoder = ElementDecoder::new(false).unwrap();
    for _ in 0..4 {
        let n = input.length();
        let data = input.bytes(n);
        let mut text = b"before".to_vec();
        let length = shared.encode(&data, &mut text).unwrap();
        let text = &text[6..];
        assert_eq!(length, text.len());
        assert_eq!(length, shared.measure(&data).unwrap());
        assert!(text.chunks(78).all(|line| line.ends_with(line_break)));
        // Not much larger than stored: 5 bytes a block, then four thirds and the line breaks.
        assert!(length <= data.len() * 7 / 5 + 100, "{length} of {}", data.len());
        let mut alone = Vec::new();
        ElementEncoder::new(encoder, level, style).unwrap().encode(&data, &mut alone).unwrap();
        assert!(text == alone, "the encoder's state is seen");
        let mut out = vec![0xee; data.len()];
        decoder.decode(text, &mut out).unwrap();
        assert!(out == data);
        assert!(naive::element(text, data.len()).unwrap() == data, "another decoder");
        if input.0.is_empty() {
            break;
        }
    }
}

/// What a rank sees of a file: headers, sizes and data of its part, until the end or an error.
struct Seen {
    user: Option<Vec<u8>>,
    sections: Vec<Found>,
    error: Option<ErrorKind>,
}

fn see(comm: impl Communicator + 'static, path: &Path, decode: bool, params: &Params, seed: u64) -> Seen {
    let mut seen = Seen { user: None, sections: Vec::new(), error: None };
    seen.error = see_all(comm, path, decode, params, seed, &mut seen).err().map(|error| {
        // What a user is shown must name the file.
        assert!(error.to_string().contains("scda-fuzz"), "{error}");
        error.kind()
    });
    seen
}

fn see_all(
    comm: impl Communicator + 'static,
    path: &Path,
    decode: bool,
    params: &Params,
    seed: u64,
    seen: &mut Seen,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut rng = Rng(seed);
    let mut file = Reader::open(comm, path, params)?;
    seen.user = Some(file.user().to_vec());
    while let Some(section) = file.next_section(decode)? {
        let root = rng.below(size as u64) as usize;
        let is_root = rank == root;
        let counts = rng.partition(section.count, size);
        let mut found = Found {
            letter: section.section_type.letter(),
            user: section.user.to_vec(),
            count: section.count,
            size: section.size,
            decoded: section.decoded,
            sizes: Vec::new(),
            data: None,
        };
        let indirect = rng.below(3) == 0;
        // In two ranges, the second one first: the same is seen.
        let ranges = size == 1 && rng.below(3) == 0;
        let cut = rng.below(section.count + 1);
        match section.section_type {
            SectionType::Inline => {
                let mut data = [0; 32];
                file.read_inline(root, is_root.then_some(&mut data))?;
                found.data = Some(if is_root { data.to_vec() } else { vec![] });
            }
            SectionType::Block => {
                let fits = section.size <= MOST_DATA;
                let mut data = vec![0; if fits && is_root { section.size as usize } else { 0 }];
                file.read_block(section.size, root, (fits && is_root).then_some(&mut data))?;
                found.data = fits.then_some(data);
            }
            SectionType::Array => {
                let fits = section.count.checked_mul(section.size).is_some_and(|bytes| bytes <= MOST_DATA);
                let sizes = |n: u64| vec![section.size; n as usize];
                // So many elements of no bytes cannot be addressed.
                let indirect = indirect && section.count <= MOST_DATA;
                found.data = elements(
                    fits,
                    indirect,
                    counts[rank] * section.size,
                    || sizes(counts[rank]),
                    |sink| match sink {
                        Sink::Contiguous(data) if ranges => {
                            let (first, second) = data.split_at_mut((cut * section.size) as usize);
                            let all = cut..section.count;
                            file.read_array_range(all, section.size, Sink::Contiguous(second))?;
                            file.read_array_range(0..cut, section.size, Sink::Contiguous(first))?;
                            file.skip()
                        }
                        sink => file.read_array(&counts, section.size, sink),
                    },
                )?;
            }
            SectionType::Varray if ranges => {
                let mut sizes = vec![0; section.count as usize];
                let (first, second) = sizes.split_at_mut(cut as usize);
                file.read_varray_sizes_range(cut..section.count, second)?;
                file.read_varray_sizes_range(0..cut, first)?;
                let bytes = |sizes: &[u64]| sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
                found.data = elements(
                    bytes(&sizes) <= MOST_DATA,
                    indirect,
                    bytes(&sizes),
                    || sizes.clone(),
                    |sink| match sink {
                        Sink::Contiguous(data) => {
                            let (low, high) = sizes.split_at(cut as usize);
                            let (first, second) = data.split_at_mut(bytes(low) as usize);
                            file.read_varray_range(0..cut, low, Sink::Contiguous(first))?;
                            file.read_varray_range(cut..section.count, high, Sink::Contiguous(second))?;
                            file.skip()
                        }
                        Sink::Indirect(_) => {
                            file.read_varray_range(0..section.count, &sizes, sink)?;
                            file.skip()
                        }
                        Sink::Skip => file.skip(),
                    },
                )?;
                found.sizes = sizes;
            }
            SectionType::Varray => {
                let mut sizes = vec![0; counts[rank] as usize];
                file.read_varray_sizes(&counts, Some(&mut sizes))?;
                let sums = file.proc_sizes(&sizes)?;
                let fits = sums.iter().sum::<u64>() <= MOST_DATA;
                let given = if rng.below(2) == 0 { Some(sums.as_slice()) } else { None };
                found.data = elements(
                    fits,
                    indirect,
                    sums[rank],
                    || sizes.clone(),
                    |sink| file.read_varray(&counts, Some(&sizes), given, sink),
                )?;
                found.sizes = sizes;
            }
        }
        seen.sections.push(found);
    }
    assert!(file.at_end());
    file.close()
}

/// Reads elements of `bytes` bytes in all if they fit, else skips them.
fn elements(
    fits: bool,
    indirect: bool,
    bytes: u64,
    sizes: impl Fn() -> Vec<u64>,
    read: impl FnOnce(Sink<'_>) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    if !fits {
        return read(Sink::Skip).map(|()| None);
    }
    if indirect {
        let mut data: Vec<Vec<u8>> = sizes().into_iter().map(|size| vec![0; size as usize]).collect();
        read(Sink::Indirect(&mut data))?;
        return Ok(Some(data.concat()));
    }
    let mut data = vec![0; bytes as usize];
    read(Sink::Contiguous(&mut data))?;
    Ok(Some(data))
}

/// Reads any bytes as a file and compares with the naive reader.
fn read_alone(input: &[u8], decode: bool) {
    let scratch = Scratch::with(input);
    let seed = hash(input);
    let mut params = Params::default();
    Input(&seed.to_be_bytes()).access(&mut params);
    let (peak, seen) = memory::peak(|| see(Solo, &scratch.0, decode, &params, seed));
    let limit = MEMORY_OF_A_RANK + 8 * input.len();
    assert!(peak <= limit, "{peak} bytes of memory for a file of {}", input.len());
    compare(&seen, input, decode);
}

fn compare(seen: &Seen, input: &[u8], decode: bool) {
    let expected = Naive { file: input, decode }.read();
    assert_eq!(seen.user, expected.user);
    for (index, (seen, expected)) in seen.sections.iter().zip(&expected.sections).enumerate() {
        let part = |found: &Found| Found { data: None, ..found.clone() };
        assert_eq!(part(seen), part(expected), "section {index}");
        assert!(seen.data == expected.data, "the data of section {index}");
    }
    let (sections, error) = (seen.sections.len(), seen.error);
    assert_eq!((sections, error.is_none()), (expected.sections.len(), expected.complete), "{error:?}");
    let of_files = [
        ErrorKind::Format,
        ErrorKind::UnsupportedVersion,
        ErrorKind::ShortFile,
        ErrorKind::Range,
        ErrorKind::Decode,
    ];
    assert!(seen.error.is_none_or(|kind| of_files.contains(&kind)), "{:?}", seen.error);
    assert!(decode || seen.error != Some(ErrorKind::Decode));
}

pub fn read_raw(input: &[u8]) {
    read_alone(input, false);
}

pub fn read_decoded(input: &[u8]) {
    read_alone(input, true);
}

/// Reads any bytes as a file on several ranks: all see the same headers and errors, and their parts make up what one
/// rank sees.
pub fn read_ranks(input: &[u8]) {
    let scratch = Scratch::with(input);
    let seed = hash(input);
    let mut choice = Input(&seed.to_be_bytes());
    let mut params = Params::default();
    choice.access(&mut params);
    let decode = choice.below(3) > 0;
    let size = 2 + choice.below(4);
    let shares = choice.below(2) == 0;
    let (peak, mut ranks) = memory::peak(|| {
        run_on_threads(size, |comm| match shares {
            true => see(comm, &scratch.0, decode, &params, seed),
            false => see(Apart(comm), &scratch.0, decode, &params, seed),
        })
    });
    let limit = size * (MEMORY_OF_A_RANK + 8 * input.len());
    assert!(peak <= limit, "{peak} bytes of memory for a file of {} on {size} ranks", input.len());
    let mut whole = ranks.remove(0);
    for rank in ranks {
        assert_eq!((&whole.user, whole.error), (&rank.user, rank.error));
        // A small section that all ranks have in memory is done on a rank before the others know.
        assert_eq!(whole.sections.len(), rank.sections.len());
        for (all, mine) in whole.sections.iter_mut().zip(rank.sections) {
            all.sizes.extend(mine.sizes);
            assert_eq!(all.data.is_some(), mine.data.is_some());
            if let (Some(all), Some(mine)) = (&mut all.data, mine.data) {
                all.extend(mine);
            }
            assert_eq!(
                (all.letter, &all.user, all.count, all.size, all.decoded),
                (mine.letter, &mine.user, mine.count, mine.size, mine.decoded)
            );
        }
    }
    compare(&whole, input, decode);
}

/// Writes any data, has the naive reader check the file, and reads it back.
pub fn round_trip(input: &[u8]) {
    let mut input = Input(input);
    let (params, seed) = (input.params(), input.word());
    let mut model = input.model();
    let scratch = Scratch::new();
    write(Solo, &scratch.0, &model, &params, seed).unwrap();
    settle(&mut model, &std::fs::read(&scratch.0).unwrap());
    for want in [Want::All, Want::Some, Want::Nothing] {
        read(Solo, &scratch.0, &model, &params, want, seed).unwrap();
    }
}

/// Compares a file with the model that was written, and notes for which sections compression was chosen.
fn settle(model: &mut Model, file: &[u8]) {
    let decode = !cfg!(miri);
    let found = Naive { file, decode }.read();
    assert!(found.complete);
    assert_eq!(found.user.as_ref(), Some(&model.user));
    assert_eq!(found.sections.len(), model.sections.len());
    for (found, section) in found.sections.iter().zip(&mut model.sections) {
        assert_eq!(found.user, section.user);
        assert_eq!(found.letter, section.data.section_type().letter());
        if section.encode == Encode::Auto {
            section.encode = if found.decoded { Encode::Always } else { Encode::None };
        }
        assert_eq!(found.decoded, section.encode == Encode::Always);
        let (sizes, data) = match &section.data {
            Data::Inline(data) => (vec![], data.to_vec()),
            Data::Block(data) => (vec![], data.clone()),
            Data::Array { elements, .. } => (vec![], elements.concat()),
            Data::Varray(elements) => (elements.iter().map(|e| e.len() as u64).collect(), elements.concat()),
        };
        assert_eq!(found.sizes, sizes);
        assert!(found.data.as_ref().is_none_or(|found| *found == data));
    }
}

/// Writes any data on one rank and on several with any partition: the files are the same. Other ranks read it.
pub fn partitions(input: &[u8]) {
    let mut input = Input(input);
    let (params, seed) = (input.params(), input.word());
    let (writers, readers) = (2 + input.below(4), 2 + input.below(4));
    let shares = [input.below(2) == 0, input.below(2) == 0];
    let (mut writing, mut reading) = (params.clone(), params.clone());
    input.access(&mut writing);
    writing.threads = 1 + input.below(3);
    writing.atomic = input.below(4) == 0;
    input.access(&mut reading);
    let mut model = input.model();
    let (alone, together) = (Scratch::new(), Scratch::new());
    write(Solo, &alone.0, &model, &params, 0).unwrap();
    run_on_threads(writers, |comm| match shares[0] {
        true => write(comm, &together.0, &model, &writing, seed).unwrap(),
        false => write(Apart(comm), &together.0, &model, &writing, seed).unwrap(),
    });
    let file = std::fs::read(&alone.0).unwrap();
    assert!(file == std::fs::read(&together.0).unwrap(), "{writers} ranks wrote another file than one");
    settle(&mut model, &file);
    run_on_threads(readers, |comm| match shares[1] {
        true => read(comm, &together.0, &model, &reading, Want::Some, seed).unwrap(),
        false => read(Apart(comm), &together.0, &model, &reading, Want::Some, seed).unwrap(),
    });
}

/// The end of the input as a seal, what is before it as its index; all of it as rows and as ends of anchors.
pub fn seals(input: &[u8]) {
    let rows = |bytes: &[u8]| -> Vec<Row> {
        bytes.as_chunks::<ROW_BYTES>().0.iter().filter_map(check_row).collect()
    };
    for row in input.windows(ROW_BYTES).step_by(32) {
        check_row(row.try_into().unwrap());
    }
    for tail in input.windows(64).step_by(32) {
        let crc = naive::count(&tail[..32], b'C').filter(|&crc| {
            STYLES.iter().any(|&style| [entry('C', crc, style), padding(false, style)].concat() == tail)
        });
        assert_eq!(parse_crc_tail(tail.try_into().unwrap(), 1 << 40).ok(), crc);
    }
    let Some((before, bytes)) = input.split_last_chunk::<SEAL_BYTES>() else { return };
    let numbers: Option<Vec<u64>> =
        (0..5).map(|i| naive::count(&bytes[96 + 32 * i..][..32], b"IPNLC"[i])).collect();
    let says = numbers.as_ref().map_or(0, |numbers| numbers[3].wrapping_sub(SEAL_BYTES as u64));
    for offset in [before.len() as u64, says, says.wrapping_add(32)] {
        let seal = Seal::parse(bytes, offset);
        let found = seal.map(|seal| vec![seal.index, seal.previous, seal.sections, seal.length, seal.crc]);
        assert_eq!(found, numbers.clone().filter(|numbers| is_seal(numbers, bytes, offset)));
        let Some(seal) = seal else { continue };
        assert_eq!(seal.offset(), offset);
        assert!(STYLES.iter().any(|&style| seal.bytes(style) == *bytes));
        let table = usize::try_from(seal.index).ok().and_then(|index| before.get(index..));
        let Some((header, table)) = table.and_then(|table| table.split_first_chunk()) else { continue };
        if parse_table_header(header, INDEX, ROW_BYTES) == Some(seal.rows()) {
            let mut rows = rows(table);
            sort_rows(&mut rows).unwrap();
            let sorted: Vec<_> = rows.iter().map(|row| &rows[row.sorted as usize]).collect();
            let name = |row: &Row| (row.section.is_some(), row.user.to_vec());
            assert!(sorted.windows(2).all(|pair| name(pair[0]) <= name(pair[1])));
        }
    }
}

const STYLES: [LineBreak; 2] = [LineBreak::Unix, LineBreak::Mime];

/// Whether these bytes, which have these numbers, are a seal at an offset.
fn is_seal(numbers: &[u64], bytes: &[u8], offset: u64) -> bool {
    let written = |style| {
        let entries =
            numbers.iter().zip("IPNLC".chars()).map(|(&number, letter)| entry(letter, number, style));
        let data: Vec<u8> = entries.flatten().collect();
        let mut line = format!("B scda seal 00 {}", "-".repeat(47)).into_bytes();
        line.extend(if style == LineBreak::Unix { b"-\n" } else { b"\r\n" });
        [line, entry('E', 160, style), data, padding(false, style)].concat()
    };
    let numbers: Vec<u128> = numbers.iter().map(|&number| u128::from(number)).collect();
    let &[index, previous, sections, length, _] = &numbers[..] else { unreachable!() };
    let offset = u128::from(offset);
    let rows = offset.checked_sub(index + 160).filter(|bytes| bytes % 256 == 0).map(|bytes| bytes / 256);
    let follows = previous % 32 == 0 && previous + 288 <= index && rows <= Some(sections);
    STYLES.iter().any(|&style| written(style) == bytes)
        && length == offset + 288
        && length < 1 << 63
        && index % 32 == 0
        && 128 + 96 * sections <= index
        && rows.is_some()
        && if previous == 0 { rows == Some(sections + 1) } else { follows }
}

/// A row, if these bytes are one; which the naive way says, too.
fn check_row(bytes: &[u8; ROW_BYTES]) -> Option<Row> {
    let found = Row::parse(bytes, 1 << 40).ok();
    assert_eq!(found.is_some(), is_row(bytes), "{}", bytes.escape_ascii());
    let row = found?;
    assert_eq!(*row.user, naive::undash(&bytes[2..64])?);
    let mut again = [0; ROW_BYTES];
    row.put(&mut again, LineBreak::Unix);
    // All but the line breaks, of which any is taken.
    let lines = again.as_chunks::<32>().0.iter().zip(bytes.as_chunks::<32>().0).enumerate();
    for (number, (again, given)) in lines {
        let text = if number == 0 { 32 } else { 30 };
        assert_eq!(again[..text], given[..text]);
    }
    assert_eq!(Row::parse(&again, 0).ok(), Some(row));
    Some(row)
}

/// Whether these bytes are a row whose numbers agree.
fn is_row(bytes: &[u8; ROW_BYTES]) -> bool {
    let kind = char::from(bytes[0]);
    let size_letter = if bytes[160] == b'U' { b'U' } else { b'E' };
    let letters = [b'O', b'L', b'N', size_letter, b'C', b'S'];
    let numbers: Option<Vec<u128>> =
        (0..6).map(|i| naive::count(&bytes[64 + 32 * i..][..32], letters[i]).map(u128::from)).collect();
    let Some([offset, length, n, e, ..]) = numbers.as_deref() else { return false };
    if bytes[1] != b' ' || naive::undash(&bytes[2..64]).is_none() {
        return false;
    }
    let padded = |bytes: u128| naive::padding(bytes) + bytes;
    let (least, is_plain) = match (kind, size_letter == b'E') {
        ('F', true) if (*offset, *n, *e) == (0, 0, 0) => (128, true),
        ('I', true) if (*n, *e) == (0, 32) => (96, true),
        ('B', true) if *n == 0 => (96 + padded(*e), true),
        ('A', true) => (128 + padded(n * e), true),
        ('V', true) => (96 + 32 * n + padded(*e), true),
        ('B', false) if *n == 0 => (96 + 96 + padded(0), false),
        ('A', false) => (96 + 96 + 32 * n + padded(0), false),
        ('V', false) => (128 + padded(32 * n) + 96 + 32 * n + padded(0), false),
        _ => return false,
    };
    let fits = if is_plain { *length == least } else { *length >= least };
    fits && length % 32 == 0 && offset % 32 == 0 && offset + length < 1 << 63
}
