//! As much of HTTP as the page needs: one request and one answer a connection, in bounded time and memory.

use crate::output::visible;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The most bytes of a request.
const MOST_BYTES: usize = 1 << 14;
/// The most connections at a time that have not sent the token.
const MOST_STRANGERS: usize = 64;
/// How long a request, or an answer, may take on its way.
const PATIENCE: Duration = Duration::from_secs(20);

/// The head of a request.
pub struct Request {
    pub method: String,
    pub path: String,
    /// Names in lower case, and values.
    headers: Vec<(String, String)>,
}

impl Request {
    /// The values of all headers of a name.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What the head says; `None` if that is none.
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") || !path.starts_with('/') {
            return None;
        }
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let is_name = !name.is_empty() && name.bytes().all(|c| c.is_ascii_graphic());
            is_name.then(|| (name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let headers = lines.map(header).collect::<Option<_>>()?;
        Some(Self { method: method.to_owned(), path: path.to_owned(), headers })
    }

    /// Reads a head.
    fn read(mut stream: &TcpStream) -> io::Result<Option<Self>> {
        let end = Instant::now() + PATIENCE;
        let (mut head, mut some) = (Vec::new(), [0; 4096]);
        loop {
            if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(std::str::from_utf8(&head[..at]).ok().and_then(Self::parse));
            }
            let left = end.saturating_duration_since(Instant::now());
            if head.len() > MOST_BYTES || left.is_zero() {
                return Ok(None);
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut some)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => head.extend_from_slice(&some[..count]),
            }
        }
    }
}

/// The same with texts as they are shown, in lines and columns.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => text.split_inclusive(['\n', '\t']).map(shown_piece).collect::<String>().into(),
        Value::Array(all) => all.into_iter().map(shown).collect(),
        Value::Object(all) => all.into_iter().map(|(key, value)| (visible(&key), shown(value))).collect(),
        other => other,
    }
}

/// A piece of a text, of which the last character may end a line or a column.
fn shown_piece(text: &str) -> String {
    let end = text.strip_suffix(['\n', '\t']).map_or(text.len(), str::len);
    visible(&text[..end]) + &text[end..]
}

/// An answer.
pub struct Answer {
    pub code: u16,
    pub kind: &'static str,
    pub data: Vec<u8>,
}

impl Answer {
    pub fn text(code: u16, text: &str) -> Self {
        Self { code, kind: "text/plain; charset=utf-8", data: text.as_bytes().to_vec() }
    }

    /// What the page shows: texts from files may not turn its direction, or hide something.
    pub fn json(value: &Value) -> Self {
        Self { code: 200, kind: "application/json", data: shown(value.clone()).to_string().into_bytes() }
    }

    /// Numbers with a head of JSON: its length in 4 bytes, the head with spaces up to a multiple of 8 bytes, and parts of bytes.
    pub fn binary(head: &Value, parts: &[&[u8]]) -> Self {
        let mut text = shown(head.clone()).to_string();
        while !(text.len() + 4).is_multiple_of(8) {
            text.push(' ');
        }
        let mut data = u32::try_from(text.len()).unwrap_or(0).to_le_bytes().to_vec();
        data.extend(text.bytes());
        parts.iter().for_each(|part| data.extend(*part));
        Self { code: 200, kind: "application/octet-stream", data }
    }

    fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let Self { code, kind, data } = self;
        let reason = match code {
            200 => "OK",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            422 => "Unprocessable Content",
            _ => "Bad Request",
        };
        let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        let head = format!(
            "HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\n\r\n",
            data.len()
        );
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(data)?;
        stream.flush()
    }
}

/// Numbers as bytes, the lowest first.
pub fn bytes_of(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The connections that have not sent the token, the oldest first. Any user of the machine can open them: too many of them cost the
/// oldest ones, and never keep out a new one, which may be the page's.
#[derive(Default)]
struct UnknownClients(Mutex<VecDeque<Arc<TcpStream>>>);

impl UnknownClients {
    fn all(&self) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, stream: &Arc<TcpStream>) {
        self.all().push_back(Arc::clone(stream));
        self.end_all_but(MOST_STRANGERS);
    }

    fn remove(&self, stream: &Arc<TcpStream>) {
        self.all().retain(|other| !Arc::ptr_eq(other, stream));
    }

    /// Ends the oldest ones, so that the threads that wait for them end, too.
    fn end_all_but(&self, most: usize) {
        let mut all = self.all();
        let surplus = all.len().saturating_sub(most);
        for stream in all.drain(..surplus) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Answers requests until the program ends: those of which `path_of` tells the path by `answer`, others by what it returns.
pub fn serve(
    listener: &TcpListener,
    path_of: impl Fn(&Request) -> Result<&str, Answer> + Sync,
    answer: impl Fn(&str) -> Answer + Sync,
) {
    let (strangers, path_of, answer) = (UnknownClients::default(), &path_of, &answer);
    let strangers = &strangers;
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            let Ok(stream) = stream.map(Arc::new) else {
                // It failed before it was accepted; or there are no more descriptors, which the oldest ones have.
                strangers.end_all_but(MOST_STRANGERS / 2);
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            strangers.add(&stream);
            // Without a thread, the connection ends here.
            let own = Arc::clone(&stream);
            if Builder::new().spawn_scoped(scope, move || talk(&own, strangers, path_of, answer)).is_err() {
                strangers.remove(&stream);
            }
        }
    });
}

/// Answers the request of a connection. Whoever asked may have gone away: errors are not missed.
fn talk(
    stream: &Arc<TcpStream>,
    strangers: &UnknownClients,
    path_of: &impl Fn(&Request) -> Result<&str, Answer>,
    answer: &impl Fn(&str) -> Answer,
) {
    if let Ok(request) = Request::read(stream) {
        let answer = match request.as_ref().map(path_of) {
            None => Answer::text(400, "400: no request that is understood\n"),
            Some(Err(refused)) => refused,
            Some(Ok(path)) => {
                strangers.remove(stream);
                answer(path)
            }
        };
        let _ = answer.write(stream);
    }
    strangers.remove(stream);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_parsed() {
        let request = Request::parse("GET /a?b HTTP/1.1\r\nHost: x\r\nORIGIN:  y ").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a?b"));
        assert_eq!(request.headers("host").chain(request.headers("origin")).collect::<Vec<_>>(), ["x", "y"]);
        for bad in [
            "",
            "GET",
            "GET / HTTP/2",
            "GET a HTTP/1.1",
            "GET / / HTTP/1.1",
            "GET / HTTP/1.1\r\nx",
            "GET / HTTP/1.1\r\n a: b",
        ] {
            assert!(Request::parse(bad).is_none(), "{bad}");
        }
    }
}
