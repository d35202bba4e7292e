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
        (
            "import a.h5 a.scda --no-seal --without x -f --external",
            "<import><a.h5><a.scda><--no-seal><--without><x><-f><--external>",
        ),
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
    // What is wrong is told without it.
    place.shell("SCDA_PYTHON=$PWD/python3 scda vtk").bad(2, "<FILE>");
    place.shell("SCDA_PYTHON=$PWD/python3 scda import a.h5 python3").bad(2, "the file exists");
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
