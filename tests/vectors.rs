//! Files of an independent writer, with what they contain; files that are damaged; sealed files whose bytes must stay as they are.

#![allow(clippy::cast_possible_truncation)] // test data

mod common;

use common::{Data, Model, ModelSection, Want, folder, manifest, options, read_on, write_on};
use scda::{
    Codec, Communicator, DataType, Dataset, Encode, Encoder, Hdf5, IndexBox, Layout, LineBreak, ReadOptions,
    Reader, Sink, Source, ThreadComm, WriteOptions, Writer, run_on_threads, uniform_partition,
};
use scda_format::index::{CRC_TAIL_BYTES, ROW_BYTES, TABLE_HEADER_BYTES};
use scda_format::seal::{SEAL_BYTES, Seal};
use std::io::Read;
use std::path::Path;

const VECTORS: [&str; 4] = ["header-only", "raw", "encoded", "mixed"];

#[test]
fn every_vector_of_every_style_is_read_to_what_its_manifest_says() {
    for name in VECTORS {
        let model = manifest(name);
        for style in ["unix", "mime", "wild"] {
            let path = folder().join(format!("{name}.{style}.scda"));
            for size in [1, 2, 3, 5] {
                for want in [Want::All, Want::Some, Want::Nothing] {
                    read_on(size, &path, &model, &options(), want, size as u64);
                }
            }
            let mut small: ReadOptions = options();
            small.tuning.aggregation_bytes = 0;
            read_on(3, &path, &model, &small, Want::All, 8);
        }
    }
}

/// The bytes of each section, the two of a compressed pair together, by the layout that the model
/// implies.
fn sections<'a>(model: &Model, file: &'a [u8]) -> Vec<&'a [u8]> {
    let padded = |n: usize| n + 7 + (32 - (n + 7) % 32) % 32;
    let count = |at: usize| -> usize {
        let text = std::str::from_utf8(&file[at + 2..at + 28]).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    let varray = |start: usize| {
        let n = count(start + 64);
        start + 96 + 32 * n + padded((0..n).map(|i| count(start + 96 + 32 * i)).sum())
    };
    let mut start = 128;
    let mut sections = Vec::new();
    for section in &model.sections {
        let encoded = section.encode == Encode::Always;
        let end = match &section.data {
            Data::Inline(_) => start + 96,
            Data::Block(_) if encoded => start + 192 + padded(count(start + 160)),
            Data::Block(data) => start + 96 + padded(data.len()),
            Data::Array { .. } if encoded => varray(start + 96),
            Data::Array { size, elements } => start + 128 + padded(elements.len() * *size as usize),
            Data::Varray(elements) if encoded => varray(start + 128 + padded(32 * elements.len())),
            Data::Varray(_) => varray(start),
        };
        sections.push(&file[start..end]);
        start = end;
    }
    assert_eq!(start, file.len());
    sections
}

#[test]
fn every_vector_is_written_anew() {
    let scratch = tempfile::tempdir().unwrap();
    for name in VECTORS {
        let model = manifest(name);
        for (style, line_break) in [("unix", LineBreak::Unix), ("mime", LineBreak::Mime)] {
            let vector = std::fs::read(folder().join(format!("{name}.{style}.scda"))).unwrap();
            let mut params: WriteOptions = options();
            params.line_break = line_break;
            let path = scratch.path().join("again.scda");
            let first = write_on(1, &path, &model, &params, 1);
            for size in [2, 3, 4, 7] {
                assert!(write_on(size, &path, &model, &params, size as u64) == first, "{name} on {size}");
            }
            // All but the vendor string.
            assert_eq!(first[..8], vector[..8]);
            assert_eq!(first[32..128], vector[32..128]);
            let pairs = sections(&model, &first).into_iter().zip(sections(&model, &vector));
            for (index, (ours, theirs)) in pairs.enumerate() {
                let encoded = model.sections[index].encode == Encode::Always;
                assert!(encoded || ours == theirs, "{name}.{style}, section {index}");
            }
            read_on(3, &path, &model, &options(), Want::All, 3);
        }
    }
}

#[test]
fn the_zlib_encoder_writes_what_the_independent_writer_wrote() {
    // Its elements have different levels.
    let scratch = tempfile::tempdir().unwrap();
    for name in ["encoded", "mixed"] {
        let model = manifest(name);
        for (style, line_break) in [("unix", LineBreak::Unix), ("mime", LineBreak::Mime)] {
            let written = [0, 1, 6, 9].map(|level| {
                let mut params: WriteOptions = options();
                (params.line_break, params.encoder, params.level) = (line_break, Encoder::Zlib, level);
                write_on(2, &scratch.path().join("z.scda"), &model, &params, 5)
            });
            let vector = std::fs::read(folder().join(format!("{name}.{style}.scda"))).unwrap();
            for (index, theirs) in sections(&model, &vector).into_iter().enumerate() {
                let same = written.iter().any(|file| sections(&model, file)[index] == theirs);
                assert!(same, "{name}.{style}, section {index}");
            }
        }
    }
}

/// What the authors' test program writes, in the order of its file.
fn reference() -> Model {
    let plain = |user: &str, data| ModelSection { user: user.into(), data, encode: Encode::None };
    let inline = *b"Test inline data               \n";
    let array =
        |elements: usize, text: &[u8]| Data::Array { size: 3, elements: vec![text.to_vec(); elements] };
    Model {
        vendor: b"libsc".to_vec(),
        user: b"This is a test file".to_vec(),
        sections: vec![
            plain("Block section test", Data::Block(b"Test block data\n".to_vec()[..15].to_vec())),
            plain("Inline section test without user-defined padding", Data::Inline(inline)),
            plain("", Data::Inline(inline)),
            plain("A block section with the inline data", Data::Block(inline.to_vec())),
            plain("A fixed-length array section", array(12, b"abc")),
            plain("An empty array", array(0, b"")),
            plain("Another fixed-length array section", array(12, b"cba")),
        ],
    }
}

#[test]
fn the_file_of_the_authors_own_code_is_reproduced() {
    let scratch = tempfile::tempdir().unwrap();
    let path = folder().join("libsc-2.8.7-reference.scda");
    let vector = std::fs::read(&path).unwrap();
    for size in [1, 3] {
        let written = write_on(size, &scratch.path().join("r.scda"), &reference(), &options(), 9);
        assert_eq!(written[32..].escape_ascii().to_string(), vector[32..].escape_ascii().to_string());
        assert_eq!(written[..8], vector[..8]);
        read_on(size, &path, &reference(), &options(), Want::All, 4);
    }
}

/// What `sealed.unix.scda` and `sealed.mime.scda` hold.
struct Content {
    names: [&'static [u8]; 3],
    /// As many elements as have an anchor, and one element more than a multiple of three.
    run_sizes: Vec<u64>,
    runs: Vec<u8>,
    cells: Vec<u8>,
    grid: Vec<u8>,
    density: Dataset,
    level: Dataset,
    flags: Dataset,
}

const NOTES: &[u8] = b"calm, calm, calm, calm, breeze\n";
const TIME: &[u8; 32] = b"42                             \n";
/// What is written of the datasets in chunks: the rest has the fill value, all of one chunk among them.
const BOXES: [([u64; 2], [u64; 2]); 3] = [([0, 0], [2, 4]), ([2, 0], [2, 2]), ([4, 1], [1, 1])];
const SHAPE: [u64; 2] = [5, 4];
const DENSITIES: [u64; 2] = [3, 2];

impl Content {
    fn new() -> Self {
        let mut density = Dataset::new("flow/density", DataType::Float64, DENSITIES);
        density.attributes = r#"{"units":"kg m-3"}"#.into();
        density.dimension_names = vec![Some("y".into()), None];
        let chunked = |name: &str, data_type, fill: &[u8], text| {
            let mut dataset = Dataset::new(name, data_type, SHAPE);
            dataset.layout = Layout::Chunked { shape: Some(vec![2, 3]), text };
            dataset.codec = Codec::Zlib;
            dataset.fill_value = fill.to_vec();
            dataset
        };
        Self {
            names: [b"Mars", b"", b"Venus, Venus, Venus"],
            run_sizes: (0..4097).map(|i| i % 3).collect(),
            runs: (0..4096_u32).map(|i| b'a' + (i % 23) as u8).collect(),
            cells: (0..20).collect(),
            grid: (0..60).map(|i| i / 7).collect(),
            density,
            level: chunked("level", DataType::Int32, &(-1_i32).to_le_bytes(), false),
            flags: chunked("flags", DataType::Uint16, &[7, 0], true),
        }
    }

    /// An item of a dataset, in the byte order of the machine.
    fn item(dataset: &Dataset, row: u64, column: u64) -> Vec<u8> {
        let n = 100 * row + column;
        match dataset.data_type {
            DataType::Float64 => (n as f64 / 8.0).to_ne_bytes().into(),
            DataType::Int32 => (n as i32 - 150).to_ne_bytes().into(),
            _ => (n as u16).to_ne_bytes().into(),
        }
    }

    /// The items of these boxes.
    fn items(dataset: &Dataset, boxes: &[IndexBox]) -> Vec<u8> {
        let mut items = Vec::new();
        for region in boxes {
            for row in (region.start[0]..).take(region.count[0] as usize) {
                for column in (region.start[1]..).take(region.count[1] as usize) {
                    items.extend(Self::item(dataset, row, column));
                }
            }
        }
        items
    }

    /// The stream of a task: before the commit, and after it.
    fn stream(task: usize) -> [Vec<u8>; 2] {
        let bytes = |n: usize, first: u8| (0..n).map(|i| first + (i % 26) as u8).collect();
        [bytes(75 * task, b'a'), bytes(70 - 35 * task, b'A')]
    }

    /// Writes the file on three ranks.
    fn write(&self, comm: ThreadComm, path: &Path, line_break: LineBreak) -> scda::Result<()> {
        let rank = comm.rank();
        let mut params: WriteOptions = options();
        // The files are older than views for HDF5.
        (params.seal, params.line_break, params.hdf5) = (true, line_break, Hdf5::Never);
        params.encoder = Encoder::Zlib; // the bytes of the other one may change with its version
        let mut file = Writer::create(comm, path, b"sealed, by libscda", &params)?;
        let own = |counts: &[u64], rank: usize| -> std::ops::Range<usize> {
            let first = counts[..rank].iter().sum::<u64>() as usize;
            first..first + counts[rank] as usize
        };
        let bytes_of = |range: std::ops::Range<usize>, size: usize| size * range.start..size * range.end;

        file.inline(b"time step", 2, (rank == 2).then_some(TIME))?;
        file.block(b"notes", 1, NOTES.len() as u64, (rank == 1).then_some(NOTES), Encode::Always)?;
        let counts = [2, 0, 3];
        let cells = &self.cells[bytes_of(own(&counts, rank), 4)];
        file.array(b"cells", &counts, 4, Source::Contiguous(cells), Encode::None)?;
        let counts = uniform_partition(4097, 3);
        let elements = own(&counts, rank);
        let first = self.run_sizes[..elements.start].iter().sum::<u64>() as usize;
        let sizes = &self.run_sizes[elements];
        let runs = &self.runs[first..][..sizes.iter().sum::<u64>() as usize];
        file.varray(b"runs", &counts, sizes, None, Source::Contiguous(runs), Encode::None)?;
        let counts = [0, 5, 0];
        let grid = &self.grid[bytes_of(own(&counts, rank), 12)];
        file.array(b"grid", &counts, 12, Source::Contiguous(grid), Encode::Always)?;
        let name = self.names[rank];
        let sizes = [name.len() as u64];
        file.varray(b"names", &[1; 3], &sizes, None, Source::Contiguous(name), Encode::Always)?;
        file.commit()?;

        file.group("/", r#"{"title":"a vector"}"#)?;
        let row = IndexBox::new([rank as u64, 0], [1, DENSITIES[1]]);
        let items = Self::items(&self.density, std::slice::from_ref(&row));
        file.dataset(&self.density, &[row], &items)?;
        let (start, count) = BOXES[rank];
        let part = [IndexBox::new(start, count)];
        for dataset in [&self.level, &self.flags] {
            file.dataset(dataset, &part, &Self::items(dataset, &part))?;
        }
        file.commit()?;

        file.begin_streams(b"log", 64)?;
        let [before, after] = Self::stream(rank);
        file.write_stream(&before)?;
        file.commit()?;
        file.write_stream(&after)?;
        file.end_streams()?;
        file.block(b"notes", 0, 4, Some(b"end\n"), Encode::None)?;
        file.close()
    }

    /// Reads all of a file on any ranks.
    fn read(&self, comm: ThreadComm, path: &Path) -> scda::Result<()> {
        let rank = comm.rank();
        let mut params: ReadOptions = options();
        params.verify = true;
        let mut file = Reader::open(comm, path, &params)?;
        assert!(file.is_sealed() && &*file.header().user == b"sealed, by libscda");
        // Of a dataset two sections, of a group two, of a part of streams three.
        assert_eq!(file.sections()?, 6 + (2 + 3 * 2) + 2 * 3 + 1);
        let seek = |file: &mut Reader, user: &[u8], occurrence| -> scda::Result<scda::Section> {
            let number = file.find(user, occurrence)?.unwrap();
            file.seek_section(number)?;
            Ok(file.next_section(true)?.unwrap())
        };

        seek(&mut file, b"time step", 0)?;
        let mut time = [0; 32];
        file.read_inline(0, (rank == 0).then_some(&mut time))?;
        assert!(rank > 0 || &time == TIME);
        for (occurrence, expected) in [(0, NOTES), (1, b"end\n"), (-1, b"end\n")] {
            let size = seek(&mut file, b"notes", occurrence)?.size;
            let mut notes = vec![0; size as usize];
            file.ranges().read_block(0..size, &mut notes)?;
            assert_eq!(notes, expected);
        }
        for (user, size, expected) in [(&b"cells"[..], 4, &self.cells), (b"grid", 12, &self.grid)] {
            let section = seek(&mut file, user, 0)?;
            assert_eq!((section.count, section.size), (5, size));
            let mut data = vec![0; expected.len()];
            file.ranges().read_array(0..5, size, Sink::Contiguous(&mut data))?;
            assert_eq!(&data, expected);
        }
        seek(&mut file, b"runs", 0)?;
        let (mut sizes, mut data) = ([0; 2], [0; 2]); // by the anchor
        file.ranges().read_varray_sizes(4095..4097, &mut sizes)?;
        assert_eq!(sizes, [0, 1]);
        file.ranges().read_varray(4095..4097, &sizes, Sink::Contiguous(&mut data[..1]))?;
        assert_eq!(data[0], *self.runs.last().unwrap());
        seek(&mut file, b"names", 0)?;
        let mut sizes = [0; 3];
        file.ranges().read_varray_sizes(0..3, &mut sizes)?;
        assert_eq!(sizes, self.names.map(|name| name.len() as u64));
        let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
        file.ranges().read_varray(0..3, &sizes, Sink::Contiguous(&mut data))?;
        assert_eq!(data, self.names.concat());

        assert_eq!(
            file.group("/")?.map(|group| group.attributes).as_deref(),
            Some(r#"{"title":"a vector"}"#)
        );
        for dataset in [&self.density, &self.level, &self.flags] {
            let found = file.dataset_record(&dataset.name, -1)?.unwrap();
            assert_eq!((found.data_type, &found.shape), (dataset.data_type, &dataset.shape));
            assert_eq!(
                (&found.attributes, &found.dimension_names),
                (&dataset.attributes, &dataset.dimension_names)
            );
            let written: Vec<IndexBox> = if dataset.shape == SHAPE {
                BOXES.map(|(start, count)| IndexBox::new(start, count)).into()
            } else {
                vec![IndexBox::all(&dataset.shape)]
            };
            let expected = Self::items(dataset, &written);
            let mut items = vec![0; expected.len()];
            found.read(&mut file, &written, &mut items)?;
            assert_eq!(items, expected, "{}", dataset.name);
            if dataset.shape == SHAPE {
                let mut fill = vec![0; dataset.fill_value.len()];
                found.read(&mut file, &[IndexBox::new([4, 3], [1, 1])], &mut fill)?;
                if cfg!(target_endian = "big") {
                    fill.reverse();
                }
                assert_eq!(fill, dataset.fill_value);
            }
        }

        let streams = file.streams_record(b"log", 0)?.unwrap();
        assert_eq!((streams.tasks(), streams.chunk_bytes()), (3, 64));
        for task in 0..3 {
            let stream = streams.stream(&mut file, task as u64)?;
            let mut found = Vec::new();
            stream.reader(&mut file).read_to_end(&mut found).unwrap();
            assert_eq!(found, Self::stream(task).concat());
        }
        file.close()
    }
}

/// The seals of a file, the last one first.
fn seals(file: &[u8]) -> Vec<Seal> {
    let at = |offset: usize| Seal::parse(file[offset..].first_chunk().unwrap(), offset as u64).unwrap();
    let mut seals = vec![at(file.len() - SEAL_BYTES)];
    while let Some(last) = seals.last().filter(|last| last.previous > 0) {
        seals.push(at(last.previous as usize));
    }
    seals
}

/// The file without its vendor string, and without the checksums of it.
fn without_vendor(mut file: Vec<u8>) -> Vec<u8> {
    let first = *seals(&file).last().unwrap();
    let row = first.index as usize + TABLE_HEADER_BYTES;
    let checksum = row + ROW_BYTES - 40; // `C`, before `S`
    let of_seal = first.length as usize - CRC_TAIL_BYTES;
    for (start, bytes) in [(8, 24), (checksum, 20), (of_seal, 32)] {
        file[start..start + bytes].fill(b'-');
    }
    file
}

#[test]
fn sealed_files_keep_their_bytes_and_are_read() {
    let content = Content::new();
    let scratch = tempfile::tempdir().unwrap();
    for (style, line_break) in [("unix", LineBreak::Unix), ("mime", LineBreak::Mime)] {
        let path = scratch.path().join(format!("{style}.scda"));
        run_on_threads(3, |comm| content.write(comm, &path, line_break).unwrap());
        let written = std::fs::read(&path).unwrap();
        let expected = folder().join(format!("sealed.{style}.scda"));
        if !expected.exists() && std::env::var_os("SCDA_UPDATE").is_some() {
            std::fs::write(&expected, &written).unwrap();
        }
        let vector = std::fs::read(&expected).unwrap();
        assert_eq!(seals(&vector).len(), 4);
        let vendor_is_same = written[..32] == vector[..32];
        let [ours, theirs] =
            [written, vector].map(|file| if vendor_is_same { file } else { without_vendor(file) });
        let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        assert!(ours == theirs, "{style}: they differ from byte {same} on");
        for ranks in [1, 2, 5] {
            run_on_threads(ranks, |comm| content.read(comm, &expected).unwrap());
        }
    }
}

/// 17 commits, of which one has a table of names.
#[test]
fn tables_of_names_keep_their_bytes_and_are_read() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, expected) = (scratch.path().join("names.scda"), folder().join("names.scda"));
    let mut params: WriteOptions = options();
    (params.seal, params.hdf5) = (true, Hdf5::Never);
    run_on_threads(2, |comm: ThreadComm| {
        let mine = (scda::Communicator::rank(&comm) == 0).then_some(&[b'.'; 32]);
        let mut file = Writer::create(comm, &path, b"17 commits", &params).unwrap();
        for step in 0..17 {
            file.inline(b"step", 0, mine).unwrap();
            file.inline(format!("only {step}").as_bytes(), 0, mine).unwrap();
            file.commit().unwrap();
        }
        file.close().unwrap();
    });
    let written = std::fs::read(&path).unwrap();
    if !expected.exists() && std::env::var_os("SCDA_UPDATE").is_some() {
        std::fs::write(&expected, &written).unwrap();
    }
    let vector = std::fs::read(&expected).unwrap();
    // The checksums in the table are those of the header, too, which has the version.
    assert!(written[..32] != vector[..32] || written == vector);
    for ranks in [1, 3] {
        run_on_threads(ranks, |comm: ThreadComm| {
            let mut file = Reader::open(comm, &expected, &options()).unwrap();
            for step in 0..17_u32 {
                assert_eq!(file.find(b"step", step.into()).unwrap(), Some(2 * u64::from(step)));
                let only = format!("only {step}");
                assert_eq!(file.find_all(only.as_bytes()).unwrap(), [2 * u64::from(step) + 1]);
            }
            assert_eq!(file.find(b"step", 17).unwrap(), None);
        });
    }
    let rows = in_python(&["scda_seal.py"], &expected);
    assert!(rows.contains("sealed, 34 sections,"), "{rows}");
}

/// What an independent reader prints of a file.
fn in_python(program: &[&str], path: &Path) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("ffi-tests");
    let output = std::process::Command::new("python3")
        .args(program)
        .arg(path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(scripts)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_readers_in_python_read_sealed_files() {
    for style in ["unix", "mime"] {
        let path = folder().join(format!("sealed.{style}.scda"));
        let run = |program: &[&str]| in_python(program, &path);
        let rows = run(&["scda_seal.py"]);
        assert!(
            rows.contains("V b'names' 3 23 compressed") && rows.contains("V b'runs' 4097 4096 plain"),
            "{rows}"
        );
        assert!(
            rows.contains("A b'grid' 5 12 compressed") && rows.contains("sealed, 21 sections,"),
            "{rows}"
        );
        let datasets = run(&["scda_datasets.py", "list"]);
        for name in ["flow/density", "level", "flags"] {
            assert!(datasets.contains(name), "{datasets}");
        }
    }
}
