use super::*;
use std::io::Read;

fn vector(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/foreign/sion");
    std::fs::read(folder.join(name)).unwrap()
}

fn with_file<T>(bytes: &[u8], call: impl FnOnce(Result<Sion>) -> T) -> T {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    call(Sion::read(Foreign::open(file.path(), "a.sion").unwrap(), file.path(), false))
}

#[test]
fn numbers_that_cannot_be_are_told() {
    let vector = vector("sion_a3_full.sion");
    let tasks = with_file(&vector, |sion| sion.unwrap().header().tasks);
    // After the prefix, ranks of 8 bytes, and sizes of 8 bytes.
    let sizes = 32 + 20 + 1024 + 8 * usize::try_from(tasks).unwrap();
    let tail = sizes + 8 * usize::try_from(tasks).unwrap();
    let large = i64::MAX.to_le_bytes();
    for (at, bytes, expected) in [
        (20, &[0; 4][..], "byte 20: bytes of a block of the file system: found 0, expected 1 to 2147483647"),
        (24, &[0, 0, 0, 128], "byte 24: tasks: found 2147483648, expected 1 to 2147483647"),
        (28, &[0; 4], "byte 28: physical files: found 0, expected 1 to 2147483647"),
        (sizes, &large, "bytes of a chunk: found 9223372036854775807, expected a sum below 2^63"),
        (sizes, &[255; 8], "bytes of a chunk: found a negative number, expected 0 or more"),
        (tail, &[255; 4], "most blocks of a task: found a negative number, expected 0 or more"),
    ] {
        let mut changed = vector.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        let error = with_file(&changed, |sion| sion.err().unwrap().to_string());
        assert!(error.starts_with("a.sion: byte ") && error.contains(expected), "{error}");
    }
    // Chunks that can be, but too many of them.
    let mut changed = vector;
    changed[sizes..sizes + 8].copy_from_slice(&(1_i64 << 60).to_le_bytes());
    changed[tail..tail + 4].copy_from_slice(&[0, 0, 1, 0]);
    let error = with_file(&changed, |sion| sion.err().unwrap().to_string());
    let expected =
        format!("byte {tail}: most blocks of a task: found 65536, expected chunks below 2^63 bytes");
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn streams_are_read_in_any_pieces_and_again() {
    with_file(&vector("sion_blocks100.sion"), |sion| {
        let sion = sion.unwrap();
        let sizes: Vec<u64> = (0..sion.tasks()).map(|task| sion.bytes(task)).collect();
        let mut all = Vec::new();
        let mut streams = sion.streams();
        streams.read_to_end(&mut all).unwrap();
        assert_eq!(all.len() as u64, sizes.iter().sum::<u64>());
        streams.rewind().unwrap();
        let mut found = vec![0; sizes.len()];
        streams.read_sizes(&mut found).unwrap();
        assert_eq!(found, sizes);
        for expected in all.chunks(7) {
            // Which asks for nothing.
            assert_eq!(streams.read(&mut []).unwrap(), 0);
            let mut piece = vec![0; expected.len()];
            streams.read_exact(&mut piece).unwrap();
            assert_eq!(piece, expected);
        }
        assert_eq!(streams.read(&mut [0; 9]).unwrap(), 0);
    });
}
