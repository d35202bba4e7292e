//! The committed headers, tables and signatures of other languages, symbol lists and version are those of the
//! sources. A crate of its own, for the crates that cbindgen needs.
#![cfg(test)]

mod cpp;
mod fortran;
mod python;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The order in which `scda.h` has what files in `crates/c/src` declare. What others declare comes after.
const ORDER: [&str; 21] = [
    "errors",
    "params",
    "open",
    "partition",
    "append",
    "background",
    "encode",
    "write",
    "read",
    "sections",
    "ranges",
    "dataset",
    "types",
    "boxes",
    "write_datasets",
    "read_datasets",
    "attributes",
    "texts",
    "streams",
    "info",
    "context",
];

/// The files that `scda_bind.h` is made from.
const BINDING_SOURCES: [&str; 3] =
    ["crates/c/src/bind.rs", "crates/c/src/lengths.rs", "crates/c/src/notes.rs"];

/// Those that `scda_meshes.h` is made from.
const MESH_SOURCES: [&str; 6] = [
    "crates/c/src/steps.rs",
    "crates/c/src/forests.rs",
    "crates/c/src/forest_write.rs",
    "crates/c/src/forest_read.rs",
    "crates/c/src/patches.rs",
    "crates/c/src/particles.rs",
];

/// Those that `scda.h` is made from: all others, in its order. (`lib.rs` would bring all of them once more.)
static SOURCES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut found = sources("crates/c/src");
    let others = [&BINDING_SOURCES[..], &MESH_SOURCES].concat();
    found.retain(|path| !others.contains(&path.as_str()) && !path.ends_with("/lib.rs"));
    let order = ORDER.map(|name| format!("crates/c/src/{name}.rs"));
    assert!(order.iter().all(|path| found.contains(path)), "{order:?}");
    found.sort_by_key(|path| order.iter().position(|ordered| ordered == path).unwrap_or(order.len()));
    found
});

/// The Rust files in a folder, sorted by name.
fn sources(folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<String> =
        names.filter(|name| name.ends_with(".rs")).map(|name| format!("{folder}/{name}")).collect();
    paths.sort();
    paths
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// The header as cbindgen makes it from the sources.
static HEADER: LazyLock<String> = LazyLock::new(|| {
    let mut config = cbindgen::Config::from_file(Path::new(ROOT).join("crates/c/cbindgen.toml")).unwrap();
    let version = [
        ("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR")),
        ("@MINOR@", env!("CARGO_PKG_VERSION_MINOR")),
        ("@PATCH@", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    for (mark, number) in version {
        config.after_includes = config.after_includes.map(|text| text.replace(mark, number));
    }
    with_inline(&generate(config, &SOURCES), "SCDA_H")
});

/// cbindgen puts what is inline after the guard.
fn with_inline(text: &str, guard: &str) -> String {
    let guard = format!("#endif  /* {guard} */\n");
    let (before, inline) = text.split_once(&guard).unwrap();
    format!("{before}{}\n{guard}", inline.trim_start())
}

/// That for bindings, likewise.
static BINDINGS: LazyLock<String> = LazyLock::new(|| {
    let path = Path::new(ROOT).join("crates/c/cbindgen_bind.toml");
    generate(cbindgen::Config::from_file(path).unwrap(), &BINDING_SOURCES)
});

/// That for meshes, likewise.
static MESHES: LazyLock<String> = LazyLock::new(|| {
    let path = Path::new(ROOT).join("crates/c/cbindgen_meshes.toml");
    let text = generate(cbindgen::Config::from_file(path).unwrap(), &MESH_SOURCES);
    with_inline(&text, "SCDA_MESHES_H")
});

/// All three.
static ALL: LazyLock<String> = LazyLock::new(|| HEADER.clone() + &BINDINGS + &MESHES);

/// What types in `crates/c/src` are for C: pointers, some of which are followed by the type of what they point to.
const POINTERS: [(&str, &str); 12] = [
    ("Comm", "MPI_Comm"),
    ("Text", "*const c_char"),
    ("UserText", "*const c_char"),
    ("UserTextOut", "*mut c_char"),
    ("PerRank", "*const u64"),
    ("Values", "*const "),
    ("Room", "*mut "),
    ("StructIn", "*const "),
    ("StructInOut", "*mut "),
    ("Structs", "*const "),
    ("StructOut", "*mut "),
    ("Out", "*mut "),
];

/// A source with [`POINTERS`] as C has them and without lifetimes, as cbindgen understands it.
fn with_pointers(source: String) -> String {
    let mut source =
        source.replace("<'a>", "").replace("<'_>", "").replace("<'a, ", "<").replace("<'_, ", "<");
    for (name, pointer) in POINTERS {
        for end in [",", ")"] {
            source = source.replace(&format!(": {name}{end}"), &format!(": {pointer}{end}"));
        }
        let begin = format!(": {name}<");
        let mut parts = source.split(&begin);
        let mut replaced = parts.next().unwrap().to_owned();
        for part in parts {
            let (target, rest) = part.split_once('>').unwrap();
            replaced += &[": ", pointer, target, rest].concat();
        }
        source = replaced;
    }
    source
}

fn generate(config: cbindgen::Config, sources: &[impl AsRef<str>]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for (place, source) in sources.iter().enumerate() {
        let path = folder.path().join(format!("{place}.rs"));
        let source = source.as_ref();
        let more = if source == DATASET { codecs() } else { String::new() };
        std::fs::write(&path, with_pointers(read(source)) + &more).unwrap();
        builder = builder.with_src(path);
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

/// The file after whose constants those of the codecs come.
const DATASET: &str = "crates/c/src/dataset.rs";

/// The rows of the table of codecs as constants of C.
fn codecs() -> String {
    let text = read("crates/format/src/dataset/codecs.rs");
    let rows = text.split_once("    pub enum Codec {\n").unwrap().1.split_once("\n    }\n").unwrap().0;
    let mut constants = String::new();
    for line in rows.lines().map(str::trim).filter(|line| *line != "#[default]") {
        constants += &match line.strip_suffix("\";").and_then(|row| row.split_once(", \"")) {
            Some((row, name)) => {
                let (_, number) = row.split_once(" = ").unwrap();
                format!("pub const SCDA_CODEC_{}: c_int = {number};\n", name.to_uppercase())
            }
            None => format!("{line}\n"),
        };
    }
    constants
}

/// Compares a committed file with what it should be, or writes it.
fn compare(path: &str, generated: &str) {
    if std::env::var_os("SCDA_UPDATE").is_some() {
        // Not in place: another test may be compiling it.
        let (path, new) = (Path::new(ROOT).join(path), Path::new(ROOT).join(format!("{path}.new")));
        std::fs::write(&new, generated).unwrap();
        std::fs::rename(new, path).unwrap();
    }
    assert!(generated == read(path), "{path} is old: run SCDA_UPDATE=1 cargo test -p scda-header");
}

#[test]
fn the_headers_are_those_of_the_sources() {
    compare("include/scda.h", &HEADER);
    compare("include/scda_bind.h", &BINDINGS);
    compare("include/scda_meshes.h", &MESHES);
}

#[test]
fn what_the_fortran_module_includes_is_that_of_the_header() {
    let generated = fortran::include(&ALL);
    compare("include/scda_c.inc", &generated);
    for name in exported() {
        let is_bound = generated.contains(&format!("bind(C, name=\"{name}\")"));
        let takes_a_communicator =
            name == "scda_stop_requested" || name.starts_with("scda_fopen") && name != "scda_fopen_f";
        assert_eq!(is_bound, !takes_a_communicator, "{name}");
    }
}

#[test]
fn the_tables_of_cpp_are_those_of_the_header() {
    compare("include/scda.hpp", &cpp::with_tables(&read("include/scda.hpp"), &HEADER));
}

#[test]
fn the_signatures_of_python_are_those_of_its_sources() {
    let sources: String = sources("python/rust").iter().map(|path| read(path)).collect();
    compare("python/src/scda/_core.pyi", &python::stub(&sources));
}

/// The names of all functions that the headers declare.
fn declared() -> BTreeSet<String> {
    let code: String = ALL.lines().filter(|line| !line.trim_start().starts_with(['*', '/'])).collect();
    let mut names = BTreeSet::new();
    for part in code.split('(') {
        let name = part.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        if name.starts_with("scda_") {
            names.insert(name.to_owned());
        }
    }
    names
}

/// The names of those that the library has: the others are inline in the header.
fn exported() -> BTreeSet<String> {
    let is_inline = |name: &String| {
        let kinds = ["int ", "uint64_t ", "scda_fcontext_t *"];
        kinds.iter().any(|kind| ALL.contains(&format!("static inline {kind}{name}(")))
    };
    let exported: BTreeSet<String> = declared().into_iter().filter(|name| !is_inline(name)).collect();
    assert_eq!(declared().len() - exported.len(), 10);
    exported
}

/// The names of all functions for forests, which the headers have inline: those of scda_p8est.h are in its first comment.
fn inline() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let header = read("include/scda_p4est.h");
    for line in header.lines().filter(|line| line.starts_with("static inline ")) {
        let name = line.split(" (").next().unwrap().rsplit([' ', '*']).next().unwrap();
        names.insert(name.to_owned());
    }
    let comment = read("include/scda_p8est.h");
    let in_3d = names.iter().filter_map(|name| name.strip_prefix("scda_p4est_"));
    let in_3d: Vec<String> = in_3d.map(|rest| format!("scda_p8est_{rest}")).collect();
    assert_eq!(in_3d.len(), 21);
    for name in &in_3d {
        assert!(comment.contains(name), "include/scda_p8est.h does not list {name}");
        let define = format!("#define {} {name}\n", name.replace("p8est", "p4est"));
        assert!(comment.contains(&define), "include/scda_p8est.h lacks {define}");
    }
    names.extend(in_3d);
    names
}

#[test]
fn the_functions_for_forests_are_documented() {
    let text = read("include/scda_p4est.h");
    for name in inline().iter().filter(|name| text.contains(&format!("{name} ("))) {
        let end = text.find(&format!("{name} (")).unwrap();
        let comment = &text[text[..end].rfind("/**").unwrap()..end];
        assert!(comment.contains("@return") && !comment.contains(");"), "{name}");
    }
}

#[test]
fn the_symbol_list_is_that_of_the_header() {
    let exported: Vec<String> = exported().into_iter().map(|name| name + "\n").collect();
    assert!(exported.len() > 15);
    compare("crates/c/scda.symbols", &exported.concat());
}

#[test]
fn the_symbol_list_of_libscda_sc_is_that_of_the_sources() {
    let mut functions = BTreeSet::new();
    for source in sources("crates/libsc/src") {
        let text = read(&source);
        for function in text.split("#[unsafe(no_mangle)]").skip(1) {
            let (_, name) = function.split_once("fn ").unwrap();
            functions.insert(name[..name.find('(').unwrap()].to_owned());
        }
    }
    let listed: Vec<String> = read("crates/libsc/scda_sc.symbols").lines().map(str::to_owned).collect();
    assert_eq!(listed.len(), 18);
    assert_eq!(listed, functions.into_iter().collect::<Vec<_>>());
}

/// How many functions for C the sources have; each is one call of one of these, which guard against panics.
fn guarded(folder: &str, calls: &[&str]) -> usize {
    let mut functions = 0;
    for source in sources(folder) {
        let text = read(&source);
        for function in text.split("#[unsafe(no_mangle)]").skip(1) {
            functions += 1;
            let body = &function[..function.find("\n}\n").unwrap()];
            let count: usize = calls.iter().map(|call| body.matches(call).count()).sum();
            assert_eq!(count, 1, "{source}: {}", function.lines().find(|line| line.contains("fn ")).unwrap());
        }
    }
    functions
}

#[test]
fn every_function_of_c_is_one_guarded_body() {
    let calls = [
        "guard(",
        "with(f, err, body)",
        "on_writer(f, err, ",
        "on_meshes(f, err, ",
        "on_reader(f, err, ",
        "locally(f, err, body)",
        "with_value(f, err, ",
        "close(f, err, ",
    ];
    assert_eq!(guarded("crates/c/src", &calls), exported().len());
    // The helpers by which they are called end in the guard.
    assert_eq!(read("crates/c/src/context.rs").matches(" guard(").count(), 5);

    let calls = [
        "guard(",
        "on_writer(fc, errcode, body)",
        "on_reader(fc, errcode, body)",
        "open(comm, params, errcode, body)",
        "caught(",
    ];
    assert_eq!(guarded("crates/libsc/src", &calls), read("crates/libsc/scda_sc.symbols").lines().count());
}

#[test]
fn every_function_is_documented_and_says_whether_it_is_collective() {
    let header = &*ALL;
    for name in declared() {
        let end = header.find(&format!("{name}(")).unwrap();
        let start = header[..end].rfind("/**").unwrap();
        let text = &header[start..end];
        assert!(text.contains("ollective"), "{name}");
        assert!(text.contains("@return"), "{name}");
        // Names tell local from collective.
        let is_collective = !text.contains("Not collective");
        let meet = [
            "scda_proc_",
            "scda_partition_",
            "scda_wait",
            "scda_stop_requested",
            "scda_patches_write",
            "scda_patches_read",
            "scda_particles_write",
            "scda_particles_read",
        ];
        let meet = meet.iter().any(|begin| name.starts_with(begin));
        let of_forests = ["init", "init_size", "free", "checksum"].map(|name| format!("scda_forest_{name}"));
        let of_no_file = name == "scda_ferror_string" || of_forests.contains(&name);
        assert_eq!(is_collective, (name.starts_with("scda_f") && !of_no_file) || meet, "{name}");
    }
}

/// Compiles a file that only includes the headers.
fn compile(compiler: &str, flags: &[&str], language: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("alone");
    std::fs::write(
        &source,
        "#include <scda_bind.h>\n#include <scda_meshes.h>\n#include <scda.h>\nint scda_alone;\n",
    )
    .unwrap();
    let output = Command::new(compiler)
        .args(["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"])
        .args(flags)
        .args(["-x", language, "-I"])
        .arg(Path::new(ROOT).join("include"))
        .arg(&source)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{compiler} {flags:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

const STANDARDS: [(&str, &str); 6] = [
    ("c", "-std=c99"),
    ("c", "-std=c11"),
    ("c", "-std=c17"),
    ("c++", "-std=c++11"),
    ("c++", "-std=c++17"),
    ("c++", "-std=c++20"),
];

#[test]
fn the_header_compiles_alone_without_mpi() {
    for (language, standard) in STANDARDS {
        compile("gcc", &[standard, "-DSCDA_SERIAL"], language);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn the_header_compiles_alone_with_mpi() {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    for (language, standard) in STANDARDS {
        compile(&mpicc, &[standard], language);
    }
}
