//! Running the command.

use crate::skipped::skipped;
use scda::{ReadOptions, Reader, Solo};
use std::fmt::Debug;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The program under test.
pub const SCDA: &str = env!("CARGO_BIN_EXE_scda");

/// What a run has given.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Run {
    fn new(output: Output) -> Self {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        // A signal has no code; a panic has 101.
        let code = output.status.code().unwrap_or(-1);
        assert!((0..=2).contains(&code) && !err.contains("panicked"), "code {code}\n{err}");
        Self { code, out: output.stdout, err }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// The first column of all lines, or another one.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|e| panic!("{e}\n{}", self.text()))
    }

    /// Requires success and silence about trouble.
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", String::from_utf8_lossy(&self.out));
        self
    }

    /// Requires a code, and words on standard error.
    #[track_caller]
    pub fn bad(self, code: i32, words: &str) -> Self {
        assert!(self.code == code && self.err.contains(words), "{self:?}, expected {code} and \"{words}\"");
        self
    }
}

/// A folder to run in.
pub struct Place(TempDir);

impl Place {
    /// In memory, where there is some: the command syncs what it writes.
    pub fn new() -> Self {
        let folder = Path::new("/dev/shm");
        Self(if folder.is_dir() {
            tempfile::tempdir_in(folder).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        })
    }

    pub fn on_disk() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn write(&self, name: &str, data: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), data).unwrap();
        self.path(name)
    }

    /// This file of tests/bad-data, unpacked here.
    pub fn bad_data(&self, name: &str) -> String {
        self.shell(&format!("tar -xf {} '{name}'", vector("../bad-data/files.tar"))).good();
        name.to_owned()
    }

    /// The names of all files in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env_remove("SCDA_CHECK").env_remove("SCDA_IO");
        command
    }

    /// Makes the file of a [description](crate::description).
    pub fn make(&self, name: &str, text: impl AsRef<str>) {
        self.make_with("", name, text);
    }

    /// The same with options.
    pub fn make_with(&self, options: &str, name: &str, text: impl AsRef<str>) {
        crate::description::make(&self.path(name), options, text.as_ref());
    }

    /// The sizes of the elements of the varray whose data are at this offset, as they are in the file.
    pub fn sizes(&self, name: &str, data_offset: u64) -> Vec<usize> {
        let mut reader = Reader::open(Solo, self.path(name), &ReadOptions::default()).unwrap();
        while let Some(section) = reader.next_section(false).unwrap() {
            if section.data_offset == data_offset {
                let mut sizes = vec![0; usize::try_from(section.count).unwrap()];
                reader.read_varray_sizes(&[section.count], Some(&mut sizes)).unwrap();
                return sizes.into_iter().map(|size| usize::try_from(size).unwrap()).collect();
            }
            reader.skip().unwrap();
        }
        panic!("{name}: no varray has its data at byte {data_offset}");
    }

    /// `scda` with these arguments, separated by spaces.
    pub fn scda(&self, arguments: &str) -> Run {
        self.with_input(arguments, b"")
    }

    pub fn with_input(&self, arguments: &str, input: &[u8]) -> Run {
        let mut command = self.command(SCDA);
        command.args(arguments.split_whitespace()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // Whoever does not want all of it closes the pipe.
            scope.spawn(move || drop(stdin.write_all(input)));
            Run::new(child.wait_with_output().unwrap())
        })
    }

    /// A line for the shell, with `scda` on its path.
    pub fn shell(&self, line: &str) -> Run {
        let folder = Path::new(SCDA).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path))).unwrap();
        Run::new(self.command("sh").args(["-c", line]).env("PATH", path).output().unwrap())
    }

    /// Runs commands while a program has the lock of those who write a file.
    pub fn while_written<T>(&self, name: &str, run: impl FnOnce() -> T) -> T {
        let file = std::fs::File::options().write(true).open(self.path(name)).unwrap();
        assert!(scda_storage::lock::lock(&file, scda_storage::lock::Share::All, false).unwrap());
        run()
    }

    /// Whether programs can have a terminal here, which some containers have not. If not, says so.
    pub fn has_terminals(&self) -> bool {
        let has = self.shell("python3 -c 'import os; os.openpty()' && echo yes; true").text() == "yes\n";
        if !has {
            skipped("there are no terminals (/dev/pts)");
        }
        has
    }

    /// `scda` at a terminal; what it shows there.
    pub fn terminal(&self, arguments: &str, variables: &str) -> String {
        let program = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
        let line = format!("TERM=xterm {variables} python3 -c '{program}' scda {arguments} </dev/null");
        self.shell(&line).text().to_owned()
    }
}

/// The vectors of the independent writer, by name.
pub fn vector(name: &str) -> String {
    format!("{}/../../tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// All files of a folder of vectors that end in `.scda`.
pub fn vectors(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(vector(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "scda"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    files
}

/// A description with a section of each kind, plain and compressed, and user strings of any bytes.
pub const SECTIONS: &str = r#"{"user": "all kinds", "sections": [
  {"type": "I", "user": "inline", "data_text": "thirty-two bytes of inline data\n"},
  {"type": "B", "user": "block", "data_text": "a block\n"},
  {"type": "B", "user_hex": "00ff5c22", "encoded": true, "data_hex": "00010203"},
  {"type": "A", "user": "array", "N": 1000, "E": 8, "generate": "counter"},
  {"type": "A", "user": "array compressed", "encoded": true, "N": 300, "E": 24, "generate": "counter"},
  {"type": "V", "user": "varray", "elements_text": ["one", "", "three\n"]},
  {"type": "V", "user": "varray compressed", "encoded": true, "N": 200, "generate_size_min": 0,
   "generate_size_max": 100, "generate_size_seed": 5, "generate": "random", "seed": 7},
  {"type": "B", "user": "", "E": 0},
  {"type": "A", "user": "none", "N": 0, "E": 5},
  {"type": "V", "user": "none", "encoded": true, "N": 0}
]}"#;

/// A file of the kinds of [`SECTIONS`], with fewer elements.
pub fn with_few_elements(place: &Place, name: &str) {
    let few = ["1000", "300", "200"]
        .into_iter()
        .fold(SECTIONS.to_owned(), |text, n| text.replace(&format!("\"N\": {n}"), "\"N\": 10"));
    place.make(name, &few);
}

/// A file of [`SECTIONS`].
pub fn with_sections(place: &Place, name: &str) {
    place.make(name, SECTIONS);
}
