//! What the tests share: files as data in memory, written and read by any number of ranks.
#![allow(dead_code)] // each test uses its part
#![allow(clippy::cast_possible_truncation)] // test data

pub mod first;
mod options;
mod rng;
pub mod sampled;
pub mod seal;
pub mod skipped;
pub mod system;
pub mod watched;

#[allow(unused_imports)] // each test uses its part
pub use options::{Options, options, tuned};
pub use rng::Rng;
use scda::{
    Collective, Communicator, Encode, ReadOptions, Reader, Result, Section, SectionType, Sink, Source,
    ThreadComm, WriteOptions, Writer, run_on,
};
use std::path::{Path, PathBuf};

/// A file as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub vendor: Vec<u8>,
    pub user: Vec<u8>,
    pub sections: Vec<ModelSection>,
}

/// A section as data.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSection {
    pub user: Vec<u8>,
    pub data: Data,
    pub encode: Encode,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Inline([u8; 32]),
    Block(Vec<u8>),
    Array { size: u64, elements: Vec<Vec<u8>> },
    Varray(Vec<Vec<u8>>),
}

impl Data {
    pub fn section_type(&self) -> SectionType {
        match self {
            Self::Inline(_) => SectionType::Inline,
            Self::Block(_) => SectionType::Block,
            Self::Array { .. } => SectionType::Array,
            Self::Varray(_) => SectionType::Varray,
        }
    }
}

impl Rng {
    /// A partition of `n` among `size` ranks: uniform, all on one rank, or random with empty ranks.
    pub fn partition(&mut self, n: u64, size: usize) -> Vec<u64> {
        match self.below(4) {
            0 => scda::uniform_partition(n, size),
            1 => {
                let mut counts = vec![0; size];
                counts[self.below(size as u64) as usize] = n;
                counts
            }
            _ => {
                let mut cuts: Vec<u64> = (1..size).map(|_| self.below(n + 1)).collect();
                cuts.extend([0, n]);
                cuts.sort_unstable();
                cuts.windows(2).map(|cut| cut[1] - cut[0]).collect()
            }
        }
    }
}

/// A file with every kind of section, in sizes around the limits of the paddings, of base64 lines,
/// and of the aggregation buffer.
pub fn model(seed: u64, largest: u64) -> Model {
    let mut rng = Rng(seed);
    let mut sections = Vec::new();
    for index in 0..30 {
        let user = match rng.below(4) {
            0 => Vec::new(),
            1 => rng.bytes(58),
            2 => b"ends in dash - -- ".to_vec(),
            _ => {
                let n = rng.below(58) as usize;
                rng.bytes(n)
            }
        };
        let n = [0, 1, 2, 5, 40, 300][rng.below(6) as usize];
        let size = match rng.below(5) {
            0 => 0,
            1 => rng.below(40),
            2 => 57 * rng.below(4) + rng.below(3),
            _ => rng.below(largest) / n.max(1),
        };
        let mut element = |size: u64| {
            let mut bytes = rng.bytes(size as usize);
            if rng.below(3) == 0 {
                bytes.iter_mut().last().into_iter().for_each(|last| *last = b'\n');
            }
            bytes
        };
        let data = match index % 4 {
            0 => Data::Inline(element(32).try_into().unwrap()),
            1 => Data::Block(element(size * n)),
            2 => Data::Array { size, elements: (0..n).map(|_| element(size)).collect() },
            _ => Data::Varray((0..n).map(|i| element(size * (i % 3) / 2)).collect()),
        };
        let encode = [Encode::None, Encode::None, Encode::Always][index / 4 % 3];
        sections.push(ModelSection { user, data, encode });
    }
    Model { vendor: Vec::new(), user: b"matrix".to_vec(), sections }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn unhex(text: &serde_json::Value) -> Vec<u8> {
    let text = text.as_str().unwrap().as_bytes();
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    text.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The manifest of a vector.
pub fn manifest(name: &str) -> Model {
    let text = std::fs::read_to_string(folder().join(name).with_extension("json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let elements = |section: &serde_json::Value| {
        section["elements_hex"].as_array().unwrap().iter().map(unhex).collect::<Vec<_>>()
    };
    let sections = json["sections"].as_array().unwrap().iter().map(|section| ModelSection {
        user: unhex(&section["user_hex"]),
        encode: if section["encoded"] == true { Encode::Always } else { Encode::None },
        data: match section["type"].as_str().unwrap() {
            "I" => Data::Inline(unhex(&section["data_hex"]).try_into().unwrap()),
            "B" => Data::Block(unhex(&section["data_hex"])),
            "A" => Data::Array { size: section["E"].as_u64().unwrap(), elements: elements(section) },
            "V" => Data::Varray(elements(section)),
            other => panic!("type {other}"),
        },
    });
    Model { vendor: unhex(&json["vendor_hex"]), user: unhex(&json["user_hex"]), sections: sections.collect() }
}

/// This rank's range of elements.
fn own(counts: &[u64], rank: usize) -> std::ops::Range<usize> {
    let start: u64 = counts[..rank].iter().sum();
    start as usize..(start + counts[rank]) as usize
}

/// Writes the model, with partitions, roots and addressing that the seed chooses.
pub fn write(
    comm: impl Communicator + 'static,
    path: &Path,
    model: &Model,
    params: &WriteOptions,
    seed: u64,
) -> Result<()> {
    let ranks = (comm.rank(), comm.size());
    let file = Writer::create(comm, path, &model.user, params)?;
    write_sections(file, ranks, &model.sections, seed, |_, _| Ok(()))
}

/// Writes these sections and closes the file; `after` is called with the number of sections after each.
pub fn write_sections(
    mut file: Writer,
    (rank, size): (usize, usize),
    sections: &[ModelSection],
    seed: u64,
    after: impl Fn(&mut Writer, usize) -> Result<()>,
) -> Result<()> {
    let mut rng = Rng(seed);
    for (index, section) in sections.iter().enumerate() {
        let root = rng.below(size as u64) as usize;
        let (indirect, give_sums) = (rng.below(2) == 0, rng.below(2) == 0);
        if rng.below(8) == 0 {
            file.flush()?;
        }
        match &section.data {
            Data::Inline(data) => file.inline(&section.user, root, (rank == root).then_some(data))?,
            Data::Block(data) => {
                let own = (rank == root).then_some(data.as_slice());
                file.block(&section.user, root, data.len() as u64, own, section.encode)?;
            }
            Data::Array { size: element, elements } => {
                let counts = rng.partition(elements.len() as u64, size);
                let own = elements[own(&counts, rank)].to_vec();
                let flat = own.concat();
                let source = if indirect { Source::Indirect(&own) } else { Source::Contiguous(&flat) };
                file.array(&section.user, &counts, *element, source, section.encode)?;
            }
            Data::Varray(elements) => {
                let counts = rng.partition(elements.len() as u64, size);
                let own = elements[own(&counts, rank)].to_vec();
                let flat = own.concat();
                let source = if indirect { Source::Indirect(&own) } else { Source::Contiguous(&flat) };
                let sizes: Vec<u64> = own.iter().map(|element| element.len() as u64).collect();
                let sums = if give_sums { Some(file.proc_sizes(&sizes)?) } else { None };
                file.varray(&section.user, &counts, &sizes, sums.as_deref(), source, section.encode)?;
            }
        }
        after(&mut file, index + 1)?;
    }
    file.close()
}

/// Writes the model on `size` ranks and returns the bytes of the file.
pub fn write_on(size: usize, path: &Path, model: &Model, params: &WriteOptions, seed: u64) -> Vec<u8> {
    write_on_ranks(ThreadComm::new(size), path, model, params, seed)
}

/// As above, on these ranks.
pub fn write_on_ranks(
    ranks: Vec<ThreadComm>,
    path: &Path,
    model: &Model,
    params: &WriteOptions,
    seed: u64,
) -> Vec<u8> {
    for result in run_on(ranks, |comm| write(comm, path, model, params, seed)) {
        result.unwrap();
    }
    std::fs::read(path).unwrap()
}

/// What a rank wants of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Want {
    All,
    Nothing,
    /// This rank or another, as the seed has it.
    Some,
}

/// Reads a file on one of its ranks with `decode` and compares what this rank reads with `model`.
pub fn read(
    comm: impl Communicator + 'static,
    path: &Path,
    model: &Model,
    params: &ReadOptions,
    want: Want,
    seed: u64,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut rng = Rng(seed);
    // What only this rank decides.
    let mut own_rng = Rng(seed ^ (rank as u64 + 1));
    let mut file = Reader::open(comm, path, params)?;
    assert_eq!(&*file.header().user, model.user);
    for expected in &model.sections {
        assert!(!file.at_end());
        let section = file.next_section(true)?.expect("a section");
        assert_eq!(section.section_type, expected.data.section_type());
        assert_eq!(&*section.user, expected.user);
        let is_inline = matches!(expected.data, Data::Inline(_));
        assert_eq!(section.decoded, !is_inline && expected.encode == Encode::Always);
        let root = rng.below(size as u64) as usize;
        let counts = rng.partition(section.count, size);
        let again = rng.partition(section.count, size);
        let other_partition = rng.below(2) == 0;
        let give_sums = rng.below(2) == 0;
        let wanted = match want {
            Want::All => true,
            Want::Nothing => false,
            Want::Some => own_rng.below(2) == 0,
        };
        let indirect = own_rng.below(2) == 0;
        assert!(!file.at_end());
        match &expected.data {
            Data::Inline(data) => {
                let mut found = [0; 32];
                file.read_inline(root, wanted.then_some(&mut found))?;
                assert!(!wanted || rank != root || found == *data);
            }
            Data::Block(data) => {
                assert_eq!(section.size, data.len() as u64);
                let mut found = vec![0; data.len()];
                file.read_block(section.size, root, wanted.then_some(&mut found))?;
                assert!(!wanted || rank != root || found == *data);
            }
            Data::Array { size: element, elements } => {
                assert_eq!((section.count, section.size), (elements.len() as u64, *element));
                let own = &elements[own(&counts, rank)];
                let read = |file: &mut Reader, sink: Sink<'_>| file.read_array(&counts, *element, sink);
                read_elements(&mut file, own, wanted, indirect, read)?;
            }
            Data::Varray(elements) => {
                assert_eq!((section.count, section.size), (elements.len() as u64, 0));
                let sizes = |counts: &[u64]| -> Vec<u64> {
                    elements[own(counts, rank)].iter().map(|element| element.len() as u64).collect()
                };
                let mut found = vec![0; counts[rank] as usize];
                let wants_sizes = want != Want::Nothing;
                file.read_varray_sizes(&counts, wants_sizes.then_some(&mut found))?;
                assert!(!wants_sizes || found == sizes(&counts));
                let counts = if other_partition { again } else { counts };
                let sizes = sizes(&counts);
                let sums = if give_sums { Some(file.proc_sizes(&sizes)?) } else { None };
                let read = |file: &mut Reader, sink: Sink<'_>| {
                    file.read_varray(&counts, wanted.then_some(&sizes), sums.as_deref(), sink)
                };
                read_elements(&mut file, &elements[own(&counts, rank)], wanted, indirect, read)?;
            }
        }
    }
    assert!(file.at_end());
    assert_eq!(file.next_section(true)?, None);
    assert_eq!(file.next_section(false)?, None);
    file.close()
}

fn read_elements(
    file: &mut Reader,
    expected: &[Vec<u8>],
    wanted: bool,
    indirect: bool,
    read: impl FnOnce(&mut Reader, Sink<'_>) -> Result<()>,
) -> Result<()> {
    if !wanted {
        return read(file, Sink::Skip);
    }
    if indirect {
        let mut found: Vec<Vec<u8>> = expected.iter().map(|element| vec![0; element.len()]).collect();
        read(file, Sink::Indirect(&mut found))?;
        assert_eq!(found, expected);
    } else {
        let mut found = vec![0; expected.iter().map(Vec::len).sum()];
        read(file, Sink::Contiguous(&mut found))?;
        assert_eq!(found, expected.concat());
    }
    Ok(())
}

/// Reads a file on `size` ranks and compares.
pub fn read_on(size: usize, path: &Path, model: &Model, params: &ReadOptions, want: Want, seed: u64) {
    read_on_ranks(ThreadComm::new(size), path, model, params, want, seed);
}

/// As above, on these ranks.
pub fn read_on_ranks(
    ranks: Vec<ThreadComm>,
    path: &Path,
    model: &Model,
    params: &ReadOptions,
    want: Want,
    seed: u64,
) {
    for result in run_on(ranks, |comm| read(comm, path, model, params, want, seed)) {
        result.unwrap();
    }
}

/// Reads a file to its end, whatever it is; the data go to memory as the headers say. Returns the
/// headers, each with the data of all elements of this rank.
pub fn read_anything(
    comm: impl Communicator + 'static,
    path: &Path,
    decode: bool,
    params: &ReadOptions,
    seed: u64,
) -> Result<Vec<(Section, Vec<u8>)>> {
    let mut sections = Vec::new();
    read_into(&mut sections, comm, path, decode, params, seed)?;
    Ok(sections)
}

/// As [`read_anything`]: the sections before an error are there, too.
pub fn read_into(
    sections: &mut Vec<(Section, Vec<u8>)>,
    comm: impl Communicator + 'static,
    path: &Path,
    decode: bool,
    params: &ReadOptions,
    seed: u64,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut rng = Rng(seed);
    let mut file = Reader::open(comm, path, params)?;
    while let Some(section) = file.next_section(decode)? {
        let root = rng.below(size as u64) as usize;
        let counts = rng.partition(section.count, size);
        let mut data = Vec::new();
        let make = |bytes: u64| vec![0; usize::try_from(bytes).unwrap()];
        match section.section_type {
            SectionType::Inline => {
                let mut found = [0; 32];
                file.read_inline(root, Some(&mut found))?;
                data.extend(if rank == root { found.to_vec() } else { vec![] });
            }
            SectionType::Block => {
                // A hostile file may say any size of uncompressed data: a program has a limit.
                let bytes = if rank == root && section.size < 1 << 30 { section.size } else { 0 };
                data = make(bytes);
                let wanted = (bytes == section.size).then_some(data.as_mut_slice());
                file.read_block(section.size, root, wanted)?;
            }
            SectionType::Array => {
                let bytes = counts[rank].checked_mul(section.size).filter(|&bytes| bytes < 1 << 30);
                data = make(bytes.unwrap_or(0));
                let sink = if bytes.is_some() { Sink::Contiguous(&mut data) } else { Sink::Skip };
                file.read_array(&counts, section.size, sink)?;
            }
            SectionType::Varray => {
                let mut sizes = vec![0; counts[rank] as usize];
                file.read_varray_sizes(&counts, Some(&mut sizes))?;
                let bytes = sizes.iter().sum::<u64>();
                data = make(if bytes < 1 << 30 { bytes } else { 0 });
                let sink = if bytes < 1 << 30 { Sink::Contiguous(&mut data) } else { Sink::Skip };
                file.read_varray(&counts, Some(&sizes), None, sink)?;
            }
        }
        sections.push((section, data));
    }
    file.close()
}

/// Where the sections of a file end, compressed pairs taken for one.
pub fn section_ends(path: &Path) -> Vec<u64> {
    let mut file = Reader::open(scda::Solo, path, &options()).unwrap();
    let mut ends = Vec::new();
    while file.next_section(true).unwrap().is_some() {
        file.skip().unwrap();
        ends.extend(file.position());
    }
    ends
}
