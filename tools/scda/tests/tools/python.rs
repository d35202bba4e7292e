//! The commands that the Python package has, with a stand-in for the interpreter. The package's own tests run the real ones.

use crate::run::Place;

/// Prints the arguments after the program, and exits with 1.
const STAND_IN: &str = "#!/bin/sh\n[ \"$1\" = -c ] || exit 9\nshift 2\nprintf '<%s>' \"$@\"\nexit 1\n";
/// The real interpreter, which finds no package.
const BARE: &str = "#!/bin/sh\nexec python3 -S -E \"$@\"\n";

fn with_interpreter(name: &str, text: &str) -> Place {
    // What is in memory may not be executed everywhere.
    let place = Place::on_disk();
    place.write(name, text);
    place.shell(&format!("chmod +x {name}")).good();
    place
}

#[test]
fn arguments_and_the_exit_code_are_passed_on() {
    let place = with_interpreter("python3", STAND_IN);
    for (arguments, expected) in [
        ("vtk 'a b.scda'", "<vtk><a b.scda>"),
        ("vtk -fo out.vtkhdf --group 'a b' -- -a", "<vtk><-fo><out.vtkhdf><--group><a b><--><-a>"),
        (
            "vtk a.scda -o b --copy --field u --field v",
            "<vtk><a.scda><-o><b><--copy><--field><u><--field><v>",
        ),
        ("vtk --absolute --group=g -f a.scda", "<vtk><--absolute><--group=g><-f><a.scda>"),
    ] {
        for line in [
            format!("SCDA_PYTHON=$PWD/python3 scda {arguments}"),
            format!("PATH=$PWD:$PATH scda {arguments}"),
            format!("PATH=$PWD:$PATH SCDA_PYTHON= scda {arguments}"),
        ] {
            let run = place.shell(&line).bad(1, "");
            assert_eq!((run.text(), run.err.as_str()), (expected, ""), "{line}");
        }
    }
    place.with_input("import - a.scda", b"PK\x03\x04").bad(2, "expected the name of a file of NumPy");
    // What is wrong is told without it.
    place.shell("SCDA_PYTHON=$PWD/python3 scda vtk").bad(2, "<FILE>");
    place.shell("SCDA_PYTHON=$PWD/python3 scda vtk a --nosuch").bad(2, "--nosuch");
    for options in ["--copy --relative", "--copy --absolute", "--absolute --relative"] {
        place.shell(&format!("SCDA_PYTHON=$PWD/python3 scda vtk {options} a")).bad(2, "cannot be used with");
    }
    let help = place.shell("SCDA_PYTHON=nosuch scda vtk --help").good();
    assert!(help.text().contains("--relative"), "{}", help.text());
}

#[test]
fn what_is_missing_is_named() {
    let place = with_interpreter("bare", BARE);
    let words = "scda: vtk: nosuch: No such file or directory (os error 2); this command needs Python 3.9 or later; SCDA_PYTHON names";
    place.shell("SCDA_PYTHON=nosuch scda vtk a.scda").bad(2, words);
    place.shell("SCDA_PYTHON=$PWD scda vtk a.scda").bad(2, "Permission denied");
    let line = "SCDA_PYTHON=$PWD/bare scda vtk a.scda";
    let words = "No module named 'scda'; this command needs the Python package scda: pip install";
    place.shell(line).bad(2, words);
    // A folder of this name is not the package, and what lies beside the user's data is not imported.
    place
        .shell("mkdir scda; echo 'raise SystemExit(7)' >scda/__main__.py; cp scda/__main__.py runpy.py")
        .good();
    place.shell(line).bad(2, words);
    place.shell("rm -r scda; echo 'raise SystemExit(7)' >scda.py").good();
    place.shell(line).bad(2, words);
}

#[test]
fn a_package_that_does_not_load_is_told_in_a_line() {
    let place = with_interpreter("broken", "#!/bin/sh\nPYTHONPATH=$PWD/broken.d exec python3 \"$@\"\n");
    place.shell("mkdir -p broken.d/scda").good();
    place.write(
        "broken.d/scda/__init__.py",
        "raise ImportError('libmpi.so.99: cannot open\\n\\nthis file')\n",
    );
    let run = place.shell("SCDA_PYTHON=$PWD/broken scda vtk a.scda");
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    run.bad(
        2,
        "libmpi.so.99: cannot open this file; this command needs the Python package scda: pip install",
    );
}

#[test]
fn import_knows_the_files_of_the_package_by_their_beginning_or_name() {
    let place = with_interpreter("python3", STAND_IN);
    let scda = |arguments: &str| place.shell(&format!("SCDA_PYTHON=$PWD/python3 scda import {arguments}"));
    place.write("a", b"\x89HDF\r\n\x1a\n");
    place.write("b", b"PK\x03\x04");
    place.write("c", b"CDF\x01");
    place.write("d.h5", b"a block of the user's");
    place.write("e", b"\x89HDF\r\n\x1a\r");
    for name in ["a", "b", "c", "d.h5"] {
        let run = scda(&format!("{name} new.scda --no-seal --without x -f")).bad(1, "");
        assert_eq!(run.text(), format!("<import><{name}><new.scda><--no-seal><--without><x><-f>"));
        scda(&format!("{name} new.scda --salvage")).bad(2, "--salvage is for files of SDF and SIONlib");
        scda(&format!("- new.scda <{name}")).bad(if name == "d.h5" { 1 } else { 2 }, "standard input");
    }
    let run = scda("a new.scda --external").bad(1, "");
    assert_eq!(run.text(), "<import><a><new.scda><--external>");
    scda("b new.scda --external").bad(2, "--external is for files of HDF5 and AMReX");
    scda("e new.scda").bad(1, "scda: e: byte 0: it begins with none of \"SDF format\"");
    scda("a a").bad(2, "the file exists");
    place.write("f", b"sion");
    scda("f new.scda --without x").bad(2, "--without is for files of HDF5, NetCDF, NumPy, Zarr and AMReX");
    assert_eq!(place.names(), ["a", "b", "c", "d.h5", "e", "f", "python3"]);
}
