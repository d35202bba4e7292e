//! `scda view`: who may ask and what is answered; and the page in a browser, by `browser.py`.

use crate::run::{Place, SCDA};
use crate::skipped::skipped;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The command as it serves, which ends with this.
struct Serving {
    child: Child,
    /// What the address has after the host.
    path: String,
    port: u16,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn new(place: &Place, files: &[&str]) -> Self {
        let mut command = Command::new(SCDA);
        command.args(["view", "--no-browser"]).args(files.iter().map(|name| place.path(name)));
        Self::start(&mut command)
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://127.0.0.1:").expect("an address");
        let (port, path) = rest.split_at(rest.find('/').unwrap());
        Self { child, path: path.to_owned(), port: port.parse().unwrap() }
    }

    /// Sends a request; the code, the head and the body of the answer.
    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|some| some == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head, answer[end + 4..].to_vec())
    }

    fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (code, _, body) = self.ask("GET", &format!("{}{path}", self.path), "Host: localhost:1\r\n");
        (code, body)
    }

    fn json(&self, path: &str) -> serde_json::Value {
        let (code, body) = self.get(path);
        assert_eq!(code, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

const FILE: &str = r#"{"user": "to look at", "sections": [
  {"type": "D", "user": "a", "data_type": "int32", "shape": [3, 4], "values": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
   "attributes": {"scale_factor": 0.5}},
  {"type": "B", "user": "text", "data_text": "<script>"},
  {"type": "D", "user": "e", "data_type": "float64", "shape": [], "values": [3]},
  {"type": "D", "user": "e", "data_type": "float64", "shape": [], "values": [2]},
  {"type": "D", "user": "t", "data_type": "int32", "shape": [2], "values": [0, 1],
   "attributes": {"units": "days since 2000-01-01", "calendar": "noleap"}}
]}"#;

#[test]
fn only_the_page_itself_is_answered() {
    let place = Place::new();
    place.with_input("make - a.scda", FILE.as_bytes()).good();
    let serving = Serving::new(&place, &["a.scda"]);
    let (path, port) = (&serving.path, serving.port);
    assert_eq!(path.len(), 34, "a token of 16 bytes: {path}");
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let (code, head, _) = serving.ask("GET", path, &host);
    assert_eq!(code, 200);
    for words in [
        "Content-Security-Policy: default-src 'none'; script-src 'self'",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
    ] {
        assert!(head.contains(words), "{head}");
    }
    let ask = |method: &str, path: &str, headers: &str| serving.ask(method, path, headers).0;
    assert_eq!(ask("GET", path, &format!("{host}Origin: http://127.0.0.1:{port}\r\n")), 200);
    assert_eq!(ask("GET", path, "Host: localhost:9999\r\n"), 200, "by way of a tunnel");
    for bad in [
        format!("{host}Origin: http://example.org\r\n"),
        format!("{host}Origin: null\r\n"),
        format!("{host}Sec-Fetch-Site: cross-site\r\n"),
        "Host: example.org\r\n".to_owned(),
        format!("Host: example.org:{port}\r\n"),
        format!("{host}Host: example.org\r\n"),
    ] {
        assert_eq!(ask("GET", path, &bad), 403, "{bad}");
    }
    let other = format!("/{}/", "0".repeat(32));
    for path in ["/", "", &path[..path.len() - 1], &other, "/main.js", "/api/files"] {
        let path = if path.is_empty() { "/x" } else { path };
        assert_eq!(ask("GET", path, &host), 403, "{path}");
    }
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(ask(method, path, &format!("{host}Content-Length: 0\r\n")), 405, "{method}");
    }
    for path in ["nosuch", "../Cargo.toml", "api/nosuch", "page/index.html"] {
        assert_eq!(serving.get(path).0, 404, "{path}");
    }
}

/// Stands in for `xdg-open`: notes what it is to open, and runs as long as the command.
const OPENER: &str = "#!/bin/sh
printf %s \"$1\" >opening && mv opening opened
while kill -0 $PPID 2>/dev/null; do sleep 0.05; done
";

/// Waits until something is so.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1000 {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("waited in vain: {what}");
}

#[test]
fn the_address_is_on_no_command_line() {
    let place = Place::on_disk();
    place.with_input("make - a.scda", FILE.as_bytes()).good();
    place.write("xdg-open", OPENER);
    place.shell("chmod +x xdg-open; mkdir home").good();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(place.path("")).chain(std::env::split_paths(&path)));
    let mut command = Command::new(SCDA);
    command.args(["view", "a.scda"]).current_dir(place.path(""));
    command.env("PATH", path.unwrap()).env("HOME", place.path("home")).env("DISPLAY", ":99");
    for is_asked in [true, false] {
        let mut serving = Serving::start(&mut command);
        let opened = until("the browser", || std::fs::read_to_string(place.path("opened")).ok());
        std::fs::remove_file(place.path("opened")).unwrap();
        let page = Path::new(&opened);
        assert_eq!(page.parent(), Some(&*place.path("home")), "{opened}");
        assert!(
            !page.file_name().unwrap().to_str().unwrap().starts_with('.'),
            "hidden from sandboxes: {opened}"
        );
        assert_eq!(page.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let token = serving.path.trim_matches('/');
        let text = std::fs::read_to_string(page).unwrap();
        let address = format!("http://127.0.0.1:{}{}", serving.port, serving.path);
        assert!(text.contains(&format!("content=\"0; url={address}\"")), "{text}");
        let mut seen = 0;
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            assert!(!line.contains(token), "{line}");
            seen += u32::from(line.contains(&opened));
        }
        assert!(seen > 0 || !Path::new("/proc/self/cmdline").exists(), "the browser is listed");
        if is_asked {
            // A file leads the browser there; for anything but the page itself, that is another site.
            let host = "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n";
            let navigation = format!("{host}Sec-Fetch-Dest: document\r\n");
            let ask = |path: &str, headers: &str| serving.ask("GET", path, headers).0;
            assert_eq!(ask(&serving.path, &format!("{host}Sec-Fetch-Dest: iframe\r\n")), 403);
            assert_eq!(ask(&format!("{}api/files", serving.path), &navigation), 403);
            assert!(page.exists());
            assert_eq!(ask(&serving.path, &navigation), 200);
        } else {
            let id = rustix::process::Pid::from_child(&serving.child);
            rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
            serving.child.wait().unwrap();
        }
        assert!(!page.exists(), "{opened}");
    }
}

#[test]
fn connections_of_others_do_not_shut_the_page_out() {
    let place = Place::new();
    place.with_input("make - a.scda", FILE.as_bytes()).good();
    let serving = Serving::new(&place, &["a.scda"]);
    let connect = || {
        let mut stream = TcpStream::connect(("127.0.0.1", serving.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // The beginning of a request, whose end never comes.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        stream
    };
    let mut others: Vec<_> = (0..200).map(|_| connect()).collect();
    for _ in 0..70 {
        assert_eq!(serving.get("api/files").0, 200);
    }
    let is_ended = |stream: &mut TcpStream| !matches!(stream.read(&mut [0]), Ok(1..));
    assert!(others.iter_mut().take(130).all(is_ended), "the oldest ones are given up");
    others.truncate(0);
    assert_eq!(serving.get("api/files").0, 200);
}

#[test]
fn answers_have_the_numbers_of_the_file() {
    let place = Place::new();
    place.with_input("make - a.scda", FILE.as_bytes()).good();
    place.with_input("make - b.scda", FILE.as_bytes()).good();
    let serving = Serving::new(&place, &["a.scda", "b.scda"]);
    let files = serving.json("api/files");
    let entries = files["files"][0]["entries"].as_array().unwrap();
    let names: Vec<_> = entries
        .iter()
        .map(|entry| (entry["kind"].as_str(), entry["name"].as_str(), entry["records"].as_u64()))
        .collect();
    assert_eq!(
        names,
        [
            (Some("dataset"), Some("a"), Some(1)),
            (Some("block"), Some("text"), Some(1)),
            (Some("dataset"), Some("e"), Some(2)),
            (Some("dataset"), Some("t"), Some(1))
        ]
    );
    let item = serving.json("api/item?item=0&record=0");
    let values = |query: &str| serving.json(&format!("api/values?{query}"))["text"].clone();
    assert_eq!(values("item=0&record=0&from=1"), "4 5 6 7\n8 9 10 11\n");
    assert_eq!((values("item=2&record=0"), values("item=2&record=1")), ("3.0\n".into(), "2.0\n".into()));
    assert_eq!((&item["shape"], &item["mesh"]), (&serde_json::json!([3, 4]), &false.into()));
    assert_eq!(serving.json("api/bytes?item=1")["text"], "<script>");
    // Whatever is asked, an answer says what is wrong.
    for bad in [
        "api/mesh?item=9&record=0",
        "api/values?item=1&record=0",
        "api/values?item=0&record=7",
        "api/mesh?item=0&record=0",
        "api/raster?item=0&record=0&turn=nan",
        "api/stream?item=0&task=0",
        "api/item?item=0",
        "api/item?file=3&item=0",
    ] {
        let (code, body) = serving.get(bad);
        assert!(code == 422 && !body.is_empty(), "{bad}: {code}");
    }
}

#[test]
fn the_page_in_a_browser() {
    let python =
        if std::path::Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" };
    let has = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !has(python, &["-c", "import selenium"])
        || !has("chromedriver", &["--version"])
        || !has("chromium", &["--version"])
    {
        skipped("there is no chromium with chromedriver and Python's selenium");
        return;
    }
    let place = Place::on_disk();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../view/tests/browser.py");
    let run =
        Command::new("timeout").args(["400", python, script, SCDA]).arg(place.path("")).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && out.ends_with("passed\n"), "{out}\n{err}");
}
