//! What a job writes and reads: steps, each of which is there as a whole or not at all.

use crate::common::{Rng, options};
use scda::{
    Codec, Data, DataMut, DataType, Dataset, Driver, Encode, ErrorKind, IndexBox, Layout, Memory, MemoryMut,
    ReadOptions, Reader, Result, Sink, Solo, Source, WriteOptions, Writer, uniform_partition,
};
use scda_format::crc;
use std::path::Path;

/// What a step is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Two sections, which belong together.
    Sections,
    /// A part of streams that stay open.
    Streams,
    /// A contiguous dataset and one in compressed chunks.
    Datasets,
    /// Rows that are added to a dataset, which the first job writes without any.
    Rows,
    /// A dataset of rounded numbers that lie scattered in memory, by each codec in turn; and attributes that are set later, of the first
    /// one and of the file.
    Codecs,
}

const FILE_HEADER_BYTES: u64 = 128;
/// A file in which nothing is yet is shorter.
const LEAST_BYTES: u64 = 600;

pub fn params(atomic: bool, buffer: usize) -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.seal, params.sync, params.atomic, params.tuning.driver) = (true, true, atomic, Driver::Posix);
    params.tuning.aggregation_bytes = buffer;
    params
}

/// Steps of this number of elements of 8 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    pub content: Content,
    pub count: u64,
}

impl Steps {
    pub fn begin(self, file: &mut Writer) -> Result<()> {
        match self.content {
            Content::Streams => file.begin_streams(b"log", 4096),
            Content::Rows if file.position().is_some_and(|position| position < LEAST_BYTES) => {
                file.dataset(&Dataset::new("u", DataType::Uint8, [0, 8]), &[], &[])
            }
            _ => Ok(()),
        }
    }

    pub fn end(self, file: &mut Writer) -> Result<()> {
        if self.content == Content::Streams { file.end_streams() } else { Ok(()) }
    }

    /// The sections of a file of one step.
    pub fn sections_of_first(self) -> u64 {
        match self.content {
            Content::Sections => 2,
            Content::Streams => 3,
            Content::Datasets => 4,
            Content::Rows => 4,
            Content::Codecs => 6,
        }
    }

    /// The bytes of all elements.
    fn bytes(self, step: u8) -> Vec<u8> {
        let mut rng = Rng(1);
        let is_noisy = matches!(self.content, Content::Datasets | Content::Codecs);
        let noise = |rng: &mut Rng| if is_noisy { rng.next() as u8 } else { 0 };
        (0..8 * self.count).map(|_| step ^ noise(&mut rng)).collect()
    }

    pub fn write(self, file: &mut Writer, step: u8, (rank, ranks): (usize, usize)) -> Result<()> {
        let counts = uniform_partition(self.count, ranks);
        let first: u64 = counts[..rank].iter().sum();
        let data = &self.bytes(step)[8 * first as usize..][..8 * counts[rank] as usize];
        match self.content {
            Content::Sections => {
                file.inline(b"step", 0, (rank == 0).then_some(&[step; 32]))?;
                file.array(b"u", &counts, 8, Source::Contiguous(data), Encode::None)
            }
            Content::Streams => file.write_stream(data),
            Content::Datasets => {
                [("u", Layout::Contiguous), ("z", CHUNKED)].into_iter().try_for_each(|(name, layout)| {
                    let mut dataset = Dataset::new(name, DataType::Uint8, [self.count, 8]);
                    dataset.layout = layout;
                    file.dataset(&dataset, &[IndexBox::new([first, 0], [counts[rank], 8])], data)
                })
            }
            Content::Rows => {
                let mut rows = Dataset::new("u", DataType::Uint8, [self.count, 8]);
                rows.layout = if step.is_multiple_of(2) { CHUNKED } else { Layout::Contiguous };
                rows.extends = true;
                file.dataset(&rows, &[IndexBox::new([first, 0], [counts[rank], 8])], data)
            }
            Content::Codecs => {
                let mut dataset = Dataset::new("u", DataType::Float64, [self.count, 8]);
                dataset.layout = Layout::Chunked { shape: Some(vec![self.count / 4, 8]), text: false };
                (dataset.codec, dataset.max_relative_error) = (Codec::NAMES[usize::from(step % 4)].0, 1e-3);
                // A little less than `data`, to which it is rounded; the last one first, with a gap after each.
                let memory = data.iter().rev().flat_map(|&byte| [f64::from(byte) * (1.0 - 1e-6), f64::NAN]);
                let memory: Vec<u8> = memory.flat_map(f64::to_ne_bytes).collect();
                let memory = Memory::strided(&memory, memory.len() - 16, &[-128, -16]);
                let own = [IndexBox::new([first, 0], [counts[rank], 8])];
                file.dataset(&dataset, &own, Data::Boxes(&[memory]))?;
                let attribute = format!("{{{}}}", attributes(&[step]));
                ["u", "/"].into_iter().try_for_each(|name| file.set_attributes(name, 0, &attribute))
            }
        }
    }

    /// The step of these bytes of all elements.
    fn step(self, data: &[u8]) -> u8 {
        let step = data[0] ^ self.bytes(0)[0];
        assert!(data == self.bytes(step), "wrong bytes were accepted");
        step
    }

    /// The steps of a file, all of whose bytes are compared with its checksums.
    pub fn read(self, path: &Path) -> Result<Vec<u8>> {
        self.read_from(&mut Self::open(path)?)
    }

    pub fn open(path: &Path) -> Result<Reader> {
        let mut params: ReadOptions = options();
        params.verify = true;
        Reader::open(Solo, path, &params)
    }

    /// The steps of an open file, as far as it can be read now.
    pub fn read_from(self, file: &mut Reader) -> Result<Vec<u8>> {
        let (mut steps, mut data) = (Vec::new(), vec![0; 8 * self.count as usize]);
        match self.content {
            Content::Sections => {
                file.seek(FILE_HEADER_BYTES)?;
                while let Some(section) = file.next_section(true)? {
                    let mut number = [0; 32];
                    assert_eq!(&*section.user, b"step");
                    file.read_inline(0, Some(&mut number))?;
                    assert_eq!(&*file.next_section(true)?.expect("half a step").user, b"u");
                    file.read_array(&[self.count], 8, Sink::Contiguous(&mut data))?;
                    steps.push(self.step(&data));
                    assert_eq!(number, [data[0]; 32]);
                }
            }
            Content::Streams => {
                let mut record = 0;
                while let Some(streams) = file.streams_record(b"log", record)? {
                    let counts = uniform_partition(self.count, streams.tasks() as usize);
                    let mut tasks = Vec::new();
                    for (task, count) in (0..).zip(counts) {
                        let stream = streams.stream(file, task)?;
                        let mut bytes = vec![0; stream.bytes() as usize];
                        stream.read(file, 0, &mut bytes)?;
                        let parts = bytes.chunks(8 * count as usize);
                        assert!(parts.clone().all(|part| part == vec![part[0]; 8 * count as usize]));
                        tasks.push(parts.map(|part| part[0]).collect::<Vec<_>>());
                    }
                    assert!(tasks.iter().all(|task| *task == tasks[0]), "half a step: {tasks:?}");
                    steps.extend(&tasks[0]);
                    record += 1;
                }
            }
            Content::Datasets => {
                let all = [IndexBox::new([0, 0], [self.count, 8])];
                while let Some(found) = file.dataset_record("u", steps.len() as i64)? {
                    found.read(file, &all, &mut data[..])?;
                    let step = self.step(&data);
                    let found = file.dataset_record("z", steps.len() as i64)?.expect("half a step");
                    found.read(file, &all, &mut data[..])?;
                    assert_eq!(self.step(&data), step);
                    steps.push(step);
                }
            }
            Content::Rows => {
                let found = file.dataset("u")?;
                let rows = found.as_ref().map_or(0, |dataset| dataset.shape[0]);
                assert_eq!(rows % self.count, 0, "half a step");
                for first in (0..rows).step_by(self.count as usize) {
                    let part = [IndexBox::new([first, 0], [self.count, 8])];
                    found.iter().try_for_each(|found| found.read(file, &part, &mut data[..]))?;
                    steps.push(self.step(&data));
                }
            }
            Content::Codecs => {
                let (all, mut memory) = ([IndexBox::new([0, 0], [self.count, 8])], vec![0; 2 * data.len()]);
                let (last, mut of_first) = (memory.len() - 2, None);
                while let Some(dataset) = file.dataset_record("u", steps.len() as i64)? {
                    of_first.get_or_insert(dataset.attributes.clone());
                    let scattered =
                        MemoryMut::strided(&mut memory, last, &[-16, -2]).of_type(DataType::Uint8);
                    dataset.read(file, &all, DataMut::Boxes(vec![scattered]))?;
                    data = memory.iter().copied().rev().skip(1).step_by(2).collect();
                    steps.push(self.step(&data));
                }
                let (of_file, end) =
                    (file.group("/")?.map(|group| group.attributes), attributes(&steps) + "}");
                let has_all = |attributes: Option<String>| attributes.unwrap_or("{}".into()).ends_with(&end);
                assert!(has_all(of_first) && has_all(of_file), "half a step");
            }
        }
        Ok(steps)
    }

    /// What the next job finds: it appends a step, or creates the file if there is none.
    pub fn go_on(self, path: &Path) -> Result<Vec<u8>> {
        let mut file = match Writer::append(Solo, path, &params(false, 0)) {
            Err(error) if error.kind() == ErrorKind::NoSuchFile => {
                Writer::create(Solo, path, b"series", &params(false, 0))?
            }
            file => file?,
        };
        self.begin(&mut file)?;
        self.write(&mut file, b'!', (0, 1))?;
        self.end(&mut file)?;
        file.close()?;
        let mut found = self.read(path)?;
        assert_eq!(found.pop(), Some(b'!'));
        Ok(found)
    }
}

/// What each step adds to the attributes of the first dataset and of the file.
fn attributes(steps: &[u8]) -> String {
    let each = steps.iter().map(|&step| format!(r#""{}":1"#, char::from(step)));
    each.collect::<Vec<_>>().join(",")
}

const CHUNKED: Layout = Layout::Chunked { shape: None, text: false };

/// The length of the file up to its last seal, if `scda check` finds nothing wrong up to there.
pub fn valid_length(path: &Path) -> Result<Option<usize>> {
    let mut file = Reader::open(Solo, path, &options())?;
    let (seals, bytes) = (file.inspect().seals()?, std::fs::read(path).unwrap());
    if seals.fault.is_some() {
        return Ok(None);
    }
    for number in 1..=seals.all.len() {
        let sealed = &seals.all[number - 1];
        file.inspect().check_seal(&seals.all[..number])?;
        let (mut number, mut end, mut rows) = (0, sealed.begin(), Vec::new());
        while number < sealed.seal.rows() {
            file.inspect().read_rows(sealed, number, end, &mut rows)?;
            for row in &rows {
                end = row.end();
                let found = crc::of(&bytes[row.offset as usize..end as usize]);
                let found = row.crc_of(found, |superblock| {
                    superblock.copy_from_slice(&bytes[512..560]);
                    Ok::<_, scda::Error>(())
                });
                if found? != row.crc {
                    return Ok(None);
                }
            }
            number += rows.len() as u64;
        }
    }
    Ok(seals.all.last().map(|sealed| sealed.seal.length as usize))
}
