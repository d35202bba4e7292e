//! Who may ask: those who know the token, and no page of another origin.

use super::http::{Answer, Request};
use crate::fail::{Fail, Result};
use crate::output::hex;
use std::io::Read;

/// The token of this run. It stands in each address, not in a cookie: browsers send the cookies of a host to all its ports, so also to a
/// server of another user of this machine.
pub struct Guard {
    path: String,
}

impl Guard {
    pub fn new() -> Result<Self> {
        let mut random = [0; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .map_err(|error| Fail::file("/dev/urandom", error))?;
        Ok(Self { path: format!("/{}/", hex(&random)) })
    }

    /// What each address begins with.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path of a request after the token.
    ///
    /// # Errors
    /// What is answered to others. It does not tell which of these it is.
    pub fn path_of<'a>(&self, request: &'a Request) -> Result<&'a str, Answer> {
        let header = |name: &'static str| {
            let mut all = request.headers(name);
            (all.next(), all.next().is_some())
        };
        let refused = || Answer::text(403, "403: this address is for the page that scda view has opened\n");
        // A name that leads here from outside, by a name server of somebody else, is none of these.
        let (host, is_twice) = header("host");
        let Some(host) = host.filter(|host| !is_twice && is_loopback(host)) else { return Err(refused()) };
        let (origin, is_twice) = header("origin");
        if is_twice || origin.is_some_and(|origin| origin != format!("http://{host}")) {
            return Err(refused());
        }
        let path = &request.path;
        let is_known = path.len() >= self.path.len()
            && path.bytes().zip(self.path.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0;
        if !is_known {
            return Err(refused());
        }
        let rest = path.get(self.path.len()..).unwrap_or_default();
        // A file or another page may lead a browser to the page itself. All else is asked for by the page.
        let (site, dest) = (header("sec-fetch-site").0, header("sec-fetch-dest").0);
        let is_opened = rest.is_empty() && dest == Some("document");
        if site.is_some_and(|site| site != "same-origin" && site != "none") && !is_opened {
            return Err(refused());
        }
        if request.method != "GET" {
            return Err(Answer::text(405, "405: expected GET\n"));
        }
        Ok(rest)
    }
}

/// Whether it names this machine, with any port: a tunnel has another one.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in ["localhost", "localhost:80", "127.0.0.1:8123", "[::1]:9"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "example.org:80",
            "localhost.example.org",
            "127.0.0.1.example.org:80",
            "localhost:80x",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
