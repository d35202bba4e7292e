//! Datasets whose items come part by part have the bytes of those that lie in memory.

use super::case::{Random, items};
use super::{chunked, with};
use scda::{BoxStream, DataStream, DataType, Dataset, IndexBox, Layout, Solo, WriteOptions, Writer};
use std::io::Read;
use std::path::Path;

/// The items of an array as a stream, which has its boxes, or not.
struct Streamed<'a> {
    dataset: &'a Dataset,
    array: &'a [u8],
    has_boxes: bool,
    used: usize,
}

impl Read for Streamed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let step = buffer.len().min(self.array.len() - self.used).min(999);
        buffer[..step].copy_from_slice(&self.array[self.used..self.used + step]);
        self.used += step;
        Ok(step)
    }
}

impl DataStream for Streamed<'_> {
    fn rewind(&mut self) -> std::io::Result<()> {
        self.used = 0;
        Ok(())
    }

    fn boxes(&mut self) -> Option<&mut dyn BoxStream> {
        if self.has_boxes { Some(self) } else { None }
    }
}

impl BoxStream for Streamed<'_> {
    fn read_box(&mut self, region: &IndexBox, data: &mut [u8]) -> std::io::Result<()> {
        let found = items(self.array, 8, &self.dataset.shape, region);
        assert!(found.iter().any(|&byte| byte != 0), "{region:?} is known to be fill");
        data.copy_from_slice(&found);
        Ok(())
    }

    fn is_fill(&mut self, region: &IndexBox) -> std::io::Result<bool> {
        Ok(items(self.array, 8, &self.dataset.shape, region).iter().all(|&byte| byte == 0))
    }
}

#[test]
fn long_datasets_come_in_parts_and_have_the_bytes_of_those_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["memory", "stream"].map(|name| folder.path().join(name));
    let mut random = Random(7);
    let mut random = || random.below(1 << 31) << 33 ^ random.below(1 << 31) << 16 ^ random.below(1 << 31);
    let mut chosen = [0; 2];
    for shape in [&[9000][..], &[3, 2731], &[40, 30, 11], &[1, 90, 90]] {
        let count: u64 = shape.iter().product();
        let smooth: Vec<u64> = (0..count).map(|i| i / 7).collect();
        let noisy: Vec<u64> = (0..count).map(|_| random()).collect();
        let far: Vec<u64> = (0..count).map(|i| if i % 4000 == 3999 { i } else { 0 }).collect();
        // Noise where every second chunk begins: no sample may take these alone.
        let mixed: Vec<u64> = (0..count).map(|i| if i / 64 % 2 == 0 { random() } else { 0 }).collect();
        for values in [smooth, noisy, far, mixed] {
            let array: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let thick = Some(shape.iter().map(|n| 64.min(*n)).collect::<Vec<_>>());
            for layout in [
                Layout::Contiguous,
                chunked(&vec![8; shape.len()]),
                Layout::Chunked { shape: thick.clone(), text: true },
                Layout::Auto { shape: thick },
                Layout::Auto { shape: None },
            ] {
                let mut dataset = Dataset::new("a", DataType::Uint64, shape);
                dataset.layout = layout;
                let params = with(|params: &mut WriteOptions| params.seal = true);
                let create = |path: &Path| Writer::create(Solo, path, b"", &params).unwrap();
                let mut file = create(&paths[0]);
                let native: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
                file.dataset(&dataset, &[IndexBox::all(shape)], &native).unwrap();
                file.close().unwrap();
                for has_boxes in [false, true] {
                    let mut file = create(&paths[1]);
                    let mut stream = Streamed { dataset: &dataset, array: &array, has_boxes, used: 0 };
                    file.incremental().dataset(&dataset, &mut stream).unwrap();
                    file.close().unwrap();
                    let [memory, stream] = paths.each_ref().map(|path| std::fs::read(path).unwrap());
                    if let Layout::Auto { .. } = dataset.layout {
                        chosen[usize::from(memory.len() < array.len())] += 1;
                    }
                    assert!(memory == stream, "{shape:?} {:?} {has_boxes}", dataset.layout);
                }
            }
        }
    }
    assert!(chosen.iter().all(|&count| count > 0), "{chosen:?}");
}

/// The seal has the offset of each 4096th chunk.
#[test]
fn a_stream_of_very_many_chunks_has_the_seal_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["memory", "stream"].map(|name| folder.path().join(name));
    let shape = [3 * 4096];
    let array: Vec<u8> = (0..shape[0]).flat_map(u64::to_ne_bytes).collect();
    let mut dataset = Dataset::new("a", DataType::Uint64, shape);
    dataset.layout = chunked(&[1]);
    let params = with(|params: &mut WriteOptions| params.seal = true);
    let create = |path: &Path| Writer::create(Solo, path, b"", &params).unwrap();
    let mut file = create(&paths[0]);
    file.dataset(&dataset, &[IndexBox::all(&shape)], &array).unwrap();
    file.close().unwrap();
    let mut file = create(&paths[1]);
    file.incremental().dataset(&dataset, &mut std::io::Cursor::new(&array[..])).unwrap();
    file.close().unwrap();
    let [memory, stream] = paths.map(|path| std::fs::read(path).unwrap());
    assert!(memory == stream);
}
