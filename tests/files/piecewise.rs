//! Sections that are written from streams, read by ranges of bytes, and compared with their canonical form.

use crate::common::{options, tuned};
use scda::{
    Collective, DataStream, ElementStream, Encode, Encoder, ErrorKind, Faults, LineBreak, Reader,
    SectionType, Sink, Solo, Source, WriteOptions, Writer, run_on_threads,
};
use std::io::{self, Read};
use std::path::Path;

/// Longer than what is read at once.
const LONG: usize = 9 << 20;

fn data(length: usize) -> Vec<u8> {
    (0..length as u64).flat_map(|i| (i / 5 * 977).to_le_bytes()).take(length).collect()
}

/// Gives its bytes a few at a time, as pipes do.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(100_001);
        self.0.read(&mut buffer[..most])
    }
}

struct Elements<'a> {
    sizes: &'a [u64],
    data: Trickle<'a>,
}

impl Read for Elements<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Trickle<'_> {}

impl DataStream for Elements<'_> {}

impl ElementStream for Elements<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        let (now, later) = self.sizes.split_at(sizes.len());
        sizes.copy_from_slice(now);
        self.sizes = later;
        Ok(())
    }
}

fn params(line_break: LineBreak, threads: usize) -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.line_break, params.tuning.threads) = (line_break, threads);
    // The quickest in a debug build: what compresses is C.
    (params.encoder, params.level) = (Encoder::Zlib, 1);
    params
}

#[test]
fn streams_make_the_same_files_as_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, streamed) = (folder.path().join("whole"), folder.path().join("streamed"));
    let long = data(LONG);
    // So many elements, and elements so large, that they come in several pieces.
    let small: Vec<u64> = (0..70_000).map(|i| i % 7).collect();
    let large: Vec<u64> = vec![3 << 20, 0, 5 << 20, 100_000, 1, 0];
    for (style, threads) in [(LineBreak::Unix, 1), (LineBreak::Mime, 3)] {
        let params = params(style, threads);
        let mut a = Writer::create(Solo, &whole, b"u", &params).unwrap();
        let mut b = Writer::create(Solo, &streamed, b"u", &params).unwrap();
        for encode in [Encode::None, Encode::Always] {
            for length in [0, 1, 4096, LONG] {
                let data = &long[..length];
                a.block(b"block", 0, length as u64, Some(data), encode).unwrap();
                b.incremental().block(b"block", length as u64, &mut Trickle(data), encode).unwrap();
                let size = if length > 10_000 { 4096 } else { 1 };
                let count = length as u64 / size;
                a.array(b"array", &[count], size, Source::Contiguous(data), encode).unwrap();
                b.incremental().array(b"array", count, size, &mut Trickle(data), encode).unwrap();
            }
            for sizes in [&[][..], &[0], &small, &large] {
                let data = &long[..usize::try_from(sizes.iter().sum::<u64>()).unwrap()];
                let count = sizes.len() as u64;
                a.varray(b"varray", &[count], sizes, None, Source::Contiguous(data), encode).unwrap();
                let mut elements = Elements { sizes, data: Trickle(data) };
                b.incremental().varray(b"varray", count, &mut elements, encode).unwrap();
            }
        }
        a.close().unwrap();
        b.close().unwrap();
        assert!(std::fs::read(&whole).unwrap() == std::fs::read(&streamed).unwrap());

        // All of it is canonical in this style, and in no other.
        let mut file = Reader::open(Solo, &streamed, &tuned(&params.tuning)).unwrap();
        assert_eq!((&file.header().vendor[..7], file.header().line_break), (&b"libscda"[..], style));
        file.inspect().check_canonical(style).unwrap();
        for decode in [true, false] {
            file.seek(128).unwrap();
            while file.next_section(decode).unwrap().is_some() {
                file.inspect().check_canonical(style).unwrap();
                file.skip().unwrap();
            }
        }
        assert_eq!(file.inspect().check_canonical(style).unwrap_err().kind(), ErrorKind::Usage);
        let other = if style == LineBreak::Unix { LineBreak::Mime } else { LineBreak::Unix };
        let mut file = Reader::open(Solo, &streamed, &tuned(&params.tuning)).unwrap();
        let error = file.inspect().check_canonical(other).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Format, Some(30)));
    }
}

#[test]
fn a_stream_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params: WriteOptions = options();
    params.atomic = true;
    let files = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    let short = data(5 << 20);
    for encode in [Encode::None, Encode::Always] {
        let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
        assert_eq!(files(folder.path()), 1);
        let error =
            file.incremental().array(b"", 6 << 10, 1 << 10, &mut Trickle(&short), encode).unwrap_err();
        assert!(error.to_string().contains("reading the data to write"), "{error}");
        assert_eq!(file.block(b"", 0, 0, None, Encode::None).unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(files(folder.path()), 0);
    }
    // Nor does a file that is given up.
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    file.incremental().block(b"", 5 << 20, &mut Trickle(&short), Encode::None).unwrap();
    assert!(file.abandon("enough").to_string().ends_with("enough"));
    assert_eq!(files(folder.path()), 0);
}

/// Whether the thread of the background writes it or the call: what was flushed stays, and nothing stays that is not whole.
#[test]
fn streamed_sections_are_whole_where_a_later_write_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let long = data(5 << 20);
    let bytes = long.len() as u64;
    for background in [false, true] {
        let (mut stayed, mut gone) = (0, 0);
        for seed in 0..60 {
            let mut params: WriteOptions = options();
            params.background_bytes = u64::from(background) << 24;
            params.tuning.faults = Some(Faults { every: 8, seed });
            let Ok(mut file) = Writer::create(Solo, &path, b"", &params) else { continue };
            let mut flushed = 0;
            let mut write = || {
                for number in 1.. {
                    file.incremental().block(b"", bytes, &mut Trickle(&long), Encode::None)?;
                    file.array(b"", &[5], 1 << 20, Source::Contiguous(&long), Encode::None)?;
                    file.flush()?;
                    flushed = 2 * number;
                }
                Ok::<_, scda::Error>(())
            };
            write().unwrap_err();
            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            let (mut found, mut read) = (0, vec![0; long.len()]);
            while let Some(section) = file.next_section(true).unwrap() {
                match section.section_type {
                    SectionType::Block => file.read_block(bytes, 0, Some(&mut read)).unwrap(),
                    _ => file.read_array(&[5], 1 << 20, Sink::Contiguous(&mut read)).unwrap(),
                }
                assert!(read == long, "background {background}, seed {seed}, section {found}");
                found += 1;
            }
            assert!(found >= flushed, "background {background}, seed {seed}: {found} of {flushed}");
            *(if found > 0 { &mut stayed } else { &mut gone }) += 1;
        }
        assert!(stayed > 5 && gone > 5, "{stayed} {gone}");
    }
}

/// Elements that can be read again.
struct Again<'a> {
    sizes: &'a [u64],
    next: usize,
    data: io::Cursor<&'a [u8]>,
}

impl Read for Again<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Again<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        self.next = 0;
        DataStream::rewind(&mut self.data)
    }
}

impl ElementStream for Again<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        sizes.copy_from_slice(&self.sizes[self.next..self.next + sizes.len()]);
        self.next += sizes.len();
        Ok(())
    }
}

#[test]
fn streams_that_can_be_read_again_are_compressed_if_that_pays() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, streamed) = (folder.path().join("whole"), folder.path().join("streamed"));
    let noise: Vec<u8> = (0..LONG as u64 / 8)
        .flat_map(|i| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left((i % 61) as u32).to_le_bytes())
        .collect();
    let mut mixed = data(LONG);
    mixed[..LONG / 2].copy_from_slice(&noise[..LONG / 2]);
    let sizes: Vec<u64> = (0..9000).map(|i| i % 2001).collect();
    let small: Vec<u64> = vec![9; 100_000];
    let params = params(LineBreak::Unix, 1);
    let mut a = Writer::create(Solo, &whole, b"u", &params).unwrap();
    let mut b = Writer::create(Solo, &streamed, b"u", &params).unwrap();
    let auto = Encode::Auto;
    let all = [data(LONG), noise, mixed];
    for long in &all {
        for length in [0, 5000, LONG] {
            let data = &long[..length];
            a.block(b"block", 0, length as u64, Some(data), auto).unwrap();
            b.incremental().block(b"block", length as u64, &mut Trickle(data), auto).unwrap();
            for size in [8, 1000] {
                let count = length as u64 / size;
                let data = &data[..usize::try_from(count * size).unwrap()];
                a.array(b"array", &[count], size, Source::Contiguous(data), auto).unwrap();
                b.incremental().array(b"array", count, size, &mut io::Cursor::new(data), auto).unwrap();
            }
        }
        for sizes in [&[][..], &[0], &[70_000; 3], &sizes, &small] {
            let data = &long[..usize::try_from(sizes.iter().sum::<u64>()).unwrap()];
            let count = sizes.len() as u64;
            a.varray(b"varray", &[count], sizes, None, Source::Contiguous(data), auto).unwrap();
            let mut elements = Again { sizes, next: 0, data: io::Cursor::new(data) };
            b.incremental().varray(b"varray", count, &mut elements, auto).unwrap();
        }
    }
    a.close().unwrap();
    b.close().unwrap();
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&streamed).unwrap());
    let mut file = Reader::open(Solo, &streamed, &tuned(&params.tuning)).unwrap();
    let (mut plain, mut compressed) = (0, 0);
    while let Some(section) = file.next_section(true).unwrap() {
        if section.count > 1000 {
            *(if section.decoded { &mut compressed } else { &mut plain }) += 1;
        }
        file.skip().unwrap();
    }
    assert!(plain > 3 && compressed > 3, "{plain} {compressed}");

    // What can be read only once cannot be tried, if it is long.
    let mut file = Writer::create(Solo, &whole, b"", &params).unwrap();
    file.incremental().array(b"", 1000, 5, &mut Trickle(&all[0]), auto).unwrap();
    let error = file.incremental().array(b"", 2000, 4500, &mut Trickle(&all[0]), auto).unwrap_err();
    assert!(error.kind() == ErrorKind::Argument && error.to_string().contains("that can be read again"));
    // Nothing of it was read.
    let mut file = Writer::create(Solo, &whole, b"", &params).unwrap();
    let mut elements = Elements { sizes: &[3], data: Trickle(b"abc") };
    assert_eq!(
        file.incremental().varray(b"", 1, &mut elements, auto).unwrap_err().kind(),
        ErrorKind::Argument
    );
    assert_eq!((elements.sizes, elements.data.0), (&[3][..], &b"abc"[..]));
}

#[test]
fn streams_are_for_one_rank() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let file = Writer::create(Solo, &path, b"", &options()).unwrap();
    file.close().unwrap();
    for kinds in run_on_threads(2, |comm| {
        [SectionType::Block, SectionType::Array, SectionType::Varray].map(|section| {
            let mut file = Writer::create(comm.clone(), &path, b"", &options()).unwrap();
            let mut data = Elements { sizes: &[1], data: Trickle(b"x") };
            let written = match section {
                SectionType::Block => file.incremental().block(b"", 1, &mut data, Encode::None),
                SectionType::Array => file.incremental().array(b"", 1, 1, &mut data, Encode::None),
                _ => file.incremental().varray(b"", 1, &mut data, Encode::None),
            };
            written.unwrap_err().kind()
        })
    }) {
        assert_eq!(kinds, [ErrorKind::Usage; 3]);
    }
    for error in run_on_threads(2, |comm| {
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        file.inspect().check_canonical(LineBreak::Unix).unwrap_err()
    }) {
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}

#[test]
fn bytes_of_blocks_are_read_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let bytes = data(100_000);
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    for encode in [Encode::None, Encode::Always] {
        file.block(b"", 0, bytes.len() as u64, Some(&bytes), encode).unwrap();
    }
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    while let Some(section) = file.next_section(true).unwrap() {
        for range in [50_000..50_001, 0..10, 99_990..100_000, 0..100_000, 7..7] {
            let (start, end) = (usize::try_from(range.start).unwrap(), usize::try_from(range.end).unwrap());
            let mut found = vec![0; end - start];
            file.ranges().read_block(range, &mut found).unwrap();
            assert!(found == bytes[start..end], "{section:?}");
        }
        file.skip().unwrap();
    }
    file.seek(128).unwrap();
    file.next_section(false).unwrap();
    let error = file.ranges().read_block(99_999..100_001, &mut [0; 2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}
