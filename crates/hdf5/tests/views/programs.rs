//! What other programs find in a file.

use crate::file::{TestFile, text};
use crate::skipped::skipped;
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The Python that has h5py, looked for once.
pub fn python() -> Option<&'static str> {
    static PYTHON: LazyLock<Option<String>> = LazyLock::new(|| {
        let named = std::env::var("SCDA_HDF5_PYTHON").ok();
        let candidates = named.into_iter().chain(["python3".into(), "/usr/bin/python3".into()]);
        { candidates }.find(|python| {
            let tried = Command::new(python).args(["-c", "import h5py"]).output();
            tried.is_ok_and(|output| output.status.success())
        })
    });
    PYTHON.as_deref()
}

/// Runs a program of h5py with the file as `f`, and numpy as `np`.
pub fn in_h5py(file: &TestFile, program: &str) {
    let Some(python) = python() else { return skipped("no Python with h5py") };
    let program = format!("import sys, json, h5py, numpy as np\nf = h5py.File(sys.argv[1], 'r')\n{program}");
    let output = Command::new(python).args(["-c", &program, text(&file.path)]).output().unwrap();
    check(&output);
}

/// As [`in_h5py`], with other modules of Python, if they are installed.
pub fn in_python(file: &TestFile, modules: &[&str], program: &str) {
    let Some(python) = python() else { return skipped("no Python with h5py") };
    let imports = format!(
        "import sys, warnings, numpy as np\nwarnings.simplefilter('ignore')\nimport {}",
        modules.join(", ")
    );
    if !Command::new(python).args(["-c", &imports]).output().unwrap().status.success() {
        return skipped(&format!("no {} of Python", modules.join(", ")));
    }
    let program = format!("{imports}\npath = sys.argv[1]\n{program}");
    let output = Command::new(python).args(["-c", &program, text(&file.path)]).output().unwrap();
    check(&output);
}

fn check(output: &Output) {
    let all = [&*output.stdout, &*output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&all));
}

/// h5dump and h5stat read all that is in the file without an error.
pub fn dump(file: &TestFile) {
    for (tool, options) in [("h5dump", &["-p"][..]), ("h5stat", &[])] {
        let Ok(output) = Command::new(tool).args(options).arg(&file.path).output() else {
            return skipped("no h5dump");
        };
        // Without the plug-in for Blosc, h5dump says so of the data.
        let words = String::from_utf8_lossy(&output.stderr);
        let is_of_filter = words.contains("unable to print data") || words.contains("filter");
        assert!(output.status.success() && words.is_empty() || is_of_filter, "{tool}: {words}");
    }
}

/// h5py reads the items that scda reads, of all these datasets.
pub fn compare(file: &TestFile, names: &[String]) {
    let items: Vec<_> = names.iter().map(|name| (name.clone(), file.items(name))).collect();
    compare_with(file, &items);
}

/// As [`compare`], with the items.
pub fn compare_with(file: &TestFile, datasets: &[(String, Vec<u8>)]) {
    let folder = file.folder.path();
    for (n, (_, items)) in datasets.iter().enumerate() {
        std::fs::write(folder.join(n.to_string()), items).unwrap();
    }
    let names: Vec<&str> = datasets.iter().map(|(name, _)| name.as_str()).collect();
    std::fs::write(folder.join("names"), names.join("\n")).unwrap();
    let Some(python) = python() else { return skipped("no Python with h5py") };
    let output = Command::new(python).args(["-c", include_str!("compare.py"), text(&file.path)]).output();
    check(&output.unwrap());
}
