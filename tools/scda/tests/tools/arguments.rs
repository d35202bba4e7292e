//! Arguments, pipes, terminals.

use crate::run::{Place, vector, with_sections};

const COMMANDS: [&str; 17] = [
    "ls",
    "cat",
    "check",
    "salvage",
    "diff",
    "copy",
    "append",
    "attr",
    "join",
    "seal",
    "rewind",
    "doctor",
    "hdf5",
    "import",
    "vtk",
    "split",
    "join-streams",
];

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
    let all = place.scda("--help").good();
    assert_eq!(place.scda("--version").good().text(), concat!("scda ", env!("CARGO_PKG_VERSION"), "\n"));
    for command in COMMANDS {
        let help = place.scda(&format!("{command} --help")).good();
        assert!(help.text().contains(&format!("Examples:\n  scda {command}")), "{}", help.text());
        assert!(help.text().contains("Examples:"));
        assert!(all.text().contains(&format!("\n  {command} ")));
        // No line is cut in two.
        assert!(help.text().lines().all(|line| line.len() <= 100), "{}", help.text());
    }
    assert!(!all.text().contains("generate"));
}

#[test]
fn manual_pages_and_completions_are_generated() {
    let place = Place::new();
    place.scda("generate pages/here").good();
    for command in COMMANDS {
        let page = place.shell(&format!("cat pages/here/scda-{command}.1")).good();
        assert!(page.text().contains(&format!(".TH scda-{command} 1")), "{}", page.text());
        let escaped = command.replace('-', "\\-");
        assert!(page.text().contains(&format!("\n.nf\n  scda {escaped} ")), "{}", page.text());
    }
    let found = place.shell("cd pages/here; ls").good();
    assert_eq!(found.text().lines().count(), COMMANDS.len() + 4, "{}", found.text());
    let complete = "COMP_WORDS=(scda ch); COMP_CWORD=1; _scda scda ch scda; echo ${COMPREPLY[@]}";
    let found = place.shell(&format!("bash -c '. pages/here/scda.bash; {complete}'")).good();
    assert_eq!(found.text(), "check\n");
    // What is for the build alone is not offered, and options are shown with their values.
    place.shell("! grep -r 'scda[_ ]*generate\\|generate:\\|a \"generate' pages/here").good();
    let page = place.shell("cat pages/here/scda-cat.1").good();
    let synopsis = page.text().lines().skip_while(|line| *line != ".SH SYNOPSIS").nth(1).unwrap();
    for part in [
        "\\fBscda cat\\fR ",
        " [\\fB\\-\\-range\\fR \\fIA:B\\fR] ",
        " [\\fB\\-\\-as\\fR \\fIFORMAT\\fR] ",
        " [\\fB\\-\\-raw\\fR] ",
        " \\fIFILE\\fR \\fISECTION\\fR",
    ] {
        assert!(synopsis.contains(part), "{synopsis}\n{part}");
    }
    let page = place.shell("cat pages/here/scda-join.1").good();
    assert!(page.text().contains("\\fB\\-o\\fR|\\fB\\-\\-output\\fR \\fIOUT\\fR"), "{}", page.text());
    assert!(place.shell("cat pages/here/scda.1").good().text().contains(" \\fICOMMAND\\fR ...\n"));
}

#[test]
fn wrong_arguments_are_told() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    for (arguments, words) in [
        ("", "Usage: scda"),
        ("list", "unrecognized subcommand 'list'"),
        ("ls", "<FILE>"),
        ("ls --colour a.scda", "--colour"),
        ("ls -s 11 a.scda", "beyond its 10 sections"),
        ("ls -s 0 a.scda", "--select: found section 0"),
        ("ls --json -s 2,0 a.scda", "--select: found section 0"),
        ("ls -s nosuch a.scda", "--select matches none of its sections"),
        ("ls --json -s nosuch a.scda", "--select matches none of its sections"),
        ("ls missing.scda", "scda: missing.scda: open: No such file or directory"),
        ("cat a.scda", "<SECTION>"),
        ("cat a.scda 11", "scda: a.scda: 11: no such section; it has 10 sections"),
        ("cat a.scda 0", "no such section; it has 10 sections"),
        ("cat a.scda nothing", "scda: a.scda: \"nothing\": no such section"),
        ("cat a.scda 4 --range 1000:1001", "--range: found 1000:1001, expected a range within 0:1000"),
        ("cat a.scda 4 --range 2:1", "--range: found 2:1, expected a range within 0:1000"),
        ("cat a.scda 4 --range -1001:", "--range: found -1001:, expected a range within 0:1000"),
        ("cat a.scda 4 --range 5", "expected A:B"),
        ("cat a.scda 4 --range a:b", "\"a\" is not a whole number"),
        ("cat a.scda 4 --as f64le", "[possible values: bytes, text]"),
        ("check", "<FILE>"),
        ("check --threads 0 a.scda", "--threads"),
        ("salvage a.scda", "<OUT>"),
        ("salvage a.scda -", "not to standard output"),
        ("import a.scda -", "not to standard output"),
        ("diff - -", "standard input: is a pipe, which can be read only once"),
        ("copy a.scda no/such/folder", "does not exist"),
        ("copy --encode 10 a.scda b.scda", "--encode"),
        ("copy --encode maybe a.scda b.scda", "expected auto, or a level from 0 to 9"),
        ("copy --encode 1 --decode a.scda b.scda", "--decode"),
        ("copy --encoder zlib a.scda b.scda", "--encode"),
        ("copy --style dos a.scda b.scda", "unix, mime"),
        ("append a.scda", "<FROM>"),
        ("append new.scda a.scda", "scda: new.scda: No such file"),
        ("append - a.scda", "-: sections can be appended only to a file"),
        ("join a.scda", "--output"),
        ("import a.scda a.scda", "the file exists"),
        ("import a.scda", "<OUT>"),
        ("diff a.scda", "<B>"),
        ("split", "<FILE>"),
        ("join-streams", "<FILE>"),
    ] {
        let run = place.scda(arguments).bad(2, words);
        assert!(run.text().is_empty() || arguments.starts_with("ls"), "{arguments}");
    }
    assert_eq!(place.names(), ["a.scda"]);
}

#[test]
fn an_ambiguous_section_lists_the_candidates() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let run = place
        .scda("cat a.scda varray*")
        .bad(2, "scda: a.scda: found 2 sections that match \"varray*\": 6, 7; choose one by its number, or by --record 0 to 1\n");
    assert_eq!(run.text(), "");
    place.scda("cat a.scda array").good();
    place.scda("cat a.scda ?lock").good();
    place.scda("cat a.scda 4,5").bad(2, "found 2 sections that match 4,5: 4, 5;");
    // A user string that is just what was asked for is meant, whatever it is as a pattern.
    let text = r#"{"sections": [{"type": "B", "user": "a", "data_text": "1"}, {"type": "B", "user": "*", "data_text": "2"},
      {"type": "B", "user": "?x", "data_text": "3"}, {"type": "B", "user": "bx", "data_text": "4"}]}"#;
    place.make("b.scda", text);
    assert_eq!(place.scda("cat b.scda *").good().text(), "2");
    assert_eq!(place.scda("cat b.scda ?x").good().text(), "3");
    place.scda("cat b.scda ?*").bad(2, "found 4 sections that match");
}

#[test]
fn data_are_shown_as_bytes_and_text() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let show = |arguments: &str| place.scda(&format!("cat a.scda {arguments}")).good();
    assert_eq!(show("1").text(), "thirty-two bytes of inline data\n");
    assert_eq!(show("1 --range -5:").text(), "data\n");
    assert_eq!(show("2 --range :3").text(), "a b");
    assert_eq!(show("3").out, [0, 1, 2, 3]);
    let od = place.shell("scda cat a.scda 5 --range 1:3 | od -An -v -t u8 -w24").good();
    assert_eq!(od.text().split_whitespace().collect::<Vec<_>>(), ["3", "4", "5", "6", "7", "8"]);
    assert_eq!(show("6").text(), "onethree\n");
    assert_eq!(show("6 --as text").text(), "one\n\nthree\n");
    assert_eq!(show("6 --as text --range 1:").text(), "\nthree\n");
    assert_eq!(show("8").text(), "");
    assert_eq!(show("10").text(), "");
    // The two sections that a compressed one is in the file.
    assert!(show("3 --raw").text().starts_with("U 4 ----"));
    assert!(show("4 --raw").text().starts_with("AAAAAAAAAAR6"));
    let all = show("7");
    let one_by_one: Vec<u8> =
        (0..200).step_by(40).flat_map(|from| show(&format!("7 --range {from}:{}", from + 40)).out).collect();
    assert!(all.out == one_by_one && all.out.len() > 5000);

    // A block longer than what is read at once: characters go on across the batches.
    let text = "é".repeat(4_500_000);
    place.make("b.scda", format!(r#"{{"sections": [{{"type": "B", "data_text": "{text}"}}]}}"#));
    let shown = place.scda("cat b.scda 1 --as text").good();
    assert!(shown.text() == text);
}

#[test]
fn lists_are_of_the_sections_that_are_wanted() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let numbers = |arguments: &str| -> Vec<String> {
        let run = place.scda(&format!("ls a.scda {arguments}")).good();
        run.text().lines().skip(2).map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    assert_eq!(numbers(""), ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    assert_eq!(numbers("-s 2-3 -s 9-"), ["2", "3", "9", "10"]);
    assert_eq!(numbers("-s 1,4 -s *compressed"), ["1", "4", "5", "7"]);
    assert_eq!(numbers("--raw").len(), 14);
    let line = place.scda("ls a.scda -s 6").good();
    let words: Vec<_> = line.text().lines().last().unwrap().split_whitespace().collect();
    assert_eq!(words[..5], ["6", "V", "3", "0/3.0/6", "9"]);
}

#[test]
fn standard_input_is_a_file() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let bytes = place.read("a.scda");
    place.with_input("diff a.scda -", &bytes).good();
    place.with_input("copy - b.scda", &bytes).good();
    place.with_input("check -", &bytes[..300]).bad(1, "");
    place.with_input("check -", b"").bad(1, "");
    assert_eq!(place.names(), ["a.scda", "b.scda"]);
    // A file of which something has been read already: what is left of it.
    place.write("c.scda", [b"before it", bytes.as_slice()].concat());
    place.shell("{ head -c 9 >/dev/null; scda diff a.scda -; } <c.scda").good();
    // What a pipe had is in no file that could stay.
    let run = place.shell(
        "mkdir tmp; export TMPDIR=$PWD/tmp; { cat a.scda; ls tmp >&2; } | scda cat - block; ls -A tmp",
    );
    assert_eq!(run.good().text(), "a block\n");
    let wait = "until test -s pid; do sleep 0.01; done; sleep 0.3";
    let kill = format!(
        "{{ cat a.scda; {wait}; kill $(cat pid); }} | sh -c 'echo $$ >pid; exec scda ls -'; ls -A tmp"
    );
    assert_eq!(place.shell(&format!("export TMPDIR=$PWD/tmp; {{ {kill}; }} 2>err")).good().text(), "");
}

#[test]
fn standard_output_gets_a_whole_file_or_nothing() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let sections = r#"{"sections": [
      {"type": "D", "user": "x", "data_type": "float64", "shape": [300], "chunk": [100], "generate": "counter"},
      {"type": "B", "user": "b", "data_text": "block"}]}"#;
    place.make("b.scda", sections);
    for arguments in
        ["copy b.scda", "copy --seal b.scda", "copy --encode 6 --codec zlib b.scda", "copy a.scda"]
    {
        place.scda(&format!("{arguments} c.scda --force")).bad(0, "");
        let run = place.scda(&format!("{arguments} -"));
        assert!(run.code == 0 && run.out == place.read("c.scda"), "{arguments}");
    }
    place.scda("join a.scda b.scda -o c.scda --force").good();
    assert!(place.scda("join a.scda b.scda -o -").good().out == place.read("c.scda"));
    let run = place.shell("cat b.scda | scda copy --seal - - | scda cat - x --box :3");
    assert_eq!(run.good().text(), "0.0\n5e-324\n1e-323\n");
    // Nothing of a file that is not complete.
    let bytes = place.read("a.scda");
    place.write("cut.scda", &bytes[..bytes.len() - 32]);
    assert_eq!(place.scda("copy cut.scda -").bad(1, "cut.scda: byte ").out, b"");
    assert_eq!(place.scda("copy -s nothing a.scda -").bad(2, "matches none of its sections").out, b"");
    place.shell("scda copy a.scda - >/dev/full").bad(2, "scda: standard output: No space left");
    place.shell("scda copy a.scda - >&-").bad(2, "scda: standard output: is closed");
    let run = place.shell(
        "mkdir tmp; export TMPDIR=$PWD/tmp; scda copy --chunk x=50 b.scda - | scda check -q -; ls -A tmp",
    );
    assert_eq!(run.good().text(), "");
    assert_eq!(place.names(), ["a.scda", "b.scda", "c.scda", "cut.scda", "tmp"]);
    if place.has_terminals() {
        let shown = place.terminal("copy a.scda -", "");
        assert!(shown.contains("an scda file is not written to a terminal"), "{shown}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_trouble() {
    let place = Place::new();
    let large = r#"{"sections": [{"type": "A", "N": 1000000, "E": 8, "generate": "counter"}]}"#;
    place.make("a.scda", large);
    for command in ["cat a.scda 1", "cat a.scda 1 --as text"] {
        let run = place.shell(&format!("{{ scda {command}; echo $? >&2; }} | head -c 5 >/dev/null"));
        assert_eq!((run.code, run.err.as_str()), (0, "0\n"), "{command}");
    }
    // The answer stays what it is.
    place.make("b.scda", large.replace("counter", "zeros"));
    place.write("cut.scda", &place.read("a.scda")[..200]);
    for command in ["diff a.scda b.scda", "check cut.scda", "check --json cut.scda"] {
        let run = place.shell(&format!("{{ sleep 0.1; scda {command}; echo $? >&2; }} | :"));
        assert_eq!((run.code, run.err.as_str()), (0, "1\n"), "{command}");
    }
    // What others are like is known, too.
    place.write("c.scda", "none");
    for command in ["ls c.scda a.scda", "ls --json c.scda a.scda"] {
        let run = place.shell(&format!("{{ sleep 0.1; scda {command}; echo $? >&2; }} | :"));
        assert!(run.err.ends_with("\n1\n"), "{command}: {run:?}");
    }
    for command in ["help", "--version"] {
        let run = place.shell(&format!("{{ sleep 0.1; scda {command}; echo $? >&2; }} | :"));
        assert_eq!((run.code, run.err.as_str()), (0, "0\n"), "{command}");
        place.shell(&format!("scda {command} >&-")).bad(2, "scda: standard output: is closed");
    }
    // A full disk is, and is said once, also if there is more than fits into a buffer.
    let blocks = vec![r#"{"type":"B","user":"block","E":0}"#; 2000].join(",");
    place.make("d.scda", format!(r#"{{"sections":[{blocks}]}}"#));
    for command in [
        "cat a.scda 1",
        "ls a.scda",
        "check a.scda",
        "ls d.scda",
        "ls --json d.scda",
        "help",
        "ls --help",
        "--version",
    ] {
        let run = place.shell(&format!("scda {command} >/dev/full"));
        let run = run.bad(2, "scda: standard output: No space left");
        assert_eq!(run.err.lines().count(), 1, "{command}: {}", run.err);
    }
}

/// What is known to be wrong decides on the exit code, although nobody reads the list to its end.
#[test]
fn faults_are_not_forgotten_if_nobody_reads_on() {
    let place = Place::new();
    let datasets: Vec<_> = (0..1000)
        .map(|n| {
            format!(r#"{{"type": "D", "user": "{n:050}", "data_type": "int8", "shape": [], "values": [1]}}"#)
        })
        .collect();
    let text = format!(
        r#"{{"sections": [{{"type": "B", "user": "scda dataset 00", "data_text": "{{}}"}}, {}]}}"#,
        datasets.join(",")
    );
    place.make("plain.scda", &text);
    place.scda("copy --seal plain.scda sealed.scda").good();
    for command in ["ls plain.scda", "ls sealed.scda", "ls --tree plain.scda", "ls --json plain.scda"] {
        let run = place.shell(&format!("{{ scda {command}; echo $? >&2; }} | head -c 5 >/dev/null"));
        assert!(run.err.ends_with("\n1\n") && run.err.contains("found"), "{command}: {run:?}");
    }
    // An index that is damaged.
    let mut bad = place.read("sealed.scda");
    let index = bad.windows(16).rposition(|text| text == b"A scda index 00 ").unwrap();
    bad[index + 300] ^= 1;
    place.write("index.scda", bad);
    let run = place.shell("{ scda ls index.scda; echo $? >&2; } | head -c 5 >/dev/null");
    assert!(run.err.ends_with("\n1\n"), "{run:?}");
}

#[test]
fn a_terminal_gets_colours_and_no_binary() {
    let place = Place::new();
    if !place.has_terminals() {
        return;
    }
    with_sections(&place, "a.scda");
    assert!(place.terminal("check a.scda", "").contains("\u{1b}[32mvalid\u{1b}[0m: 10 sections"));
    assert!(place.terminal("check a.scda", "NO_COLOR=1").contains("valid: 10 sections"));
    assert!(!place.terminal("ls a.scda", "NO_COLOR=1").contains('\u{1b}'));
    assert!(!place.scda("check a.scda").good().text().contains('\u{1b}'));
    assert!(place.terminal("cat a.scda 3", "").contains("not printed to a terminal: pipe them to"));
    assert!(place.terminal("cat a.scda 2", "").contains("a block"));
    assert!(place.terminal("cat a.scda 3 --as bytes", "").contains("not printed to a terminal"));
    // What a file says cannot command the terminal.
    let evil = r#"{"user": "\u001b[2J", "sections": [{"type": "B", "user": "\u001b]0;x\u0007", "data_text": "\u001b[2J"}]}"#;
    place.make("b.scda", evil);
    for command in ["ls b.scda", "cat b.scda 1", "cat b.scda 1 --as text"] {
        let shown = place.terminal(command, "NO_COLOR=1");
        assert!(!shown.contains('\u{1b}') && !shown.is_empty(), "{shown:?}");
    }
    assert!(vector("").starts_with('/'));
}

#[test]
fn names_cannot_command_the_terminal() {
    let place = Place::new();
    // The name has an escape sequence, and a character that turns the direction of what follows.
    let name = "a\u{1b}[31m\u{202e}b.scda";
    let user = "x\u{202e}y\u{2066}z\u{200f}";
    let text = format!(
        r#"{{"user": "{user}", "sections": [{{"type": "B", "user": "{user}", "data_text": "{user}"}}]}}"#
    );
    place.make("a.scda", text);
    std::fs::copy(place.path("a.scda"), place.path(name)).unwrap();
    let bytes = place.read("a.scda");
    place.write(&format!("cut{name}"), &bytes[..bytes.len() - 32]);
    for command in [
        "ls *b.scda",
        "ls --raw *b.scda",
        "check *b.scda",
        "cat a*b.scda 1 --as text",
        "cat a*b.scda nosuch",
        "cat nosuch*b.scda 1",
        "copy a.scda a*b.scda",
        "copy a.scda cut*b.scda/no",
        "salvage -f cut*b.scda a*b.scda",
        "append a*b.scda nosuch*b.scda",
        "diff *b.scda",
    ] {
        let run = place.shell(&format!(
            "touch \"$(printf 'nosuch\\033[31m.json')\"; scda {command} 2>&1; rm -f nosuch*; :"
        ));
        let is_unseen = |c: char| c != '\n' && (c.is_control() || ('\u{200e}'..='\u{2069}').contains(&c));
        assert!(!run.text().contains(is_unseen) && !run.text().is_empty(), "{command}: {:?}", run.text());
    }
    assert_eq!(place.scda("cat a.scda 1").good().text(), user);
    let shown = place.scda("cat a.scda 1 --as text").good();
    assert_eq!(shown.text(), "x\\xe2\\x80\\xaey\\xe2\\x81\\xa6z\\xe2\\x80\\x8f");
    // Others can tell it from its escaped form.
    let run = place.shell("scda check --json a?*b.scda").good();
    assert_eq!(run.json()["file"], name);
}

#[test]
fn elements_without_bytes_are_not_shown() {
    let place = Place::new();
    let text = r#"{"sections": [{"type": "A", "user": "none", "N": 9223372036854775807, "E": 0}]}"#;
    place.make("a.scda", text);
    for format in ["text", "bytes"] {
        assert_eq!(place.scda(&format!("cat a.scda 1 --as {format}")).good().text(), "");
    }
}

#[test]
fn json_has_an_object_for_a_file_that_cannot_be_read() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let run = place.scda("check --json nosuch a.scda").bad(2, "scda: nosuch: open: No such file");
    let objects: Vec<serde_json::Value> =
        run.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (objects.len(), &objects[0]["file"], &objects[0]["valid"]),
        (2, &"nosuch".into(), &serde_json::Value::Null)
    );
    assert!(objects[0]["error"]["message"].as_str().unwrap().contains("No such file"), "{}", objects[0]);
    assert_eq!(objects[1]["valid"], true);
    let object = place.scda("ls --json nosuch").bad(2, "nosuch: ").json();
    assert!(object["file"] == "nosuch" && object["error"]["code"].is_i64(), "{object}");
}

#[test]
fn a_signal_leaves_no_incomplete_file() {
    let place = Place::new();
    // Takes much longer than the signal, and no space.
    place.shell("truncate -s 64G zeros").good();
    for signal in ["INT", "TERM", "HUP"] {
        place.write("old.scda", "something precious");
        for out in ["new.scda", "old.scda"] {
            let wait = "for i in $(seq 200); do ls *.scda-part >seen 2>/dev/null && break; sleep 0.3; done";
            let line = format!(
                "exec 2>/dev/null; env -i PATH=\"$PATH\" python3 -c \"import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); \
                 os.execvp('scda', sys.argv[1:])\" scda join-streams -f zeros -o {out} --name log & {wait}; kill -{signal} $!; wait $!; echo $?"
            );
            let code = match signal {
                "HUP" => 129,
                "INT" => 130,
                _ => 143,
            };
            assert_eq!(place.shell(&line).good().text(), format!("{code}\n"), "{signal}");
            // It was there.
            assert_eq!(place.shell("cat seen").good().text(), format!("{out}.scda-part\n"));
        }
        assert_eq!(place.read("old.scda"), b"something precious");
        assert_eq!(place.names(), ["old.scda", "seen", "zeros"], "{signal}");
    }
}
