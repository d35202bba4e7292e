//! The parameters of a request: what follows the question mark.

use crate::fail::{Fail, Result};
use std::collections::HashMap;
use std::str::FromStr;

pub struct Parameters(HashMap<String, String>);

impl Parameters {
    pub fn new(query: &str) -> Self {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(key, value)| (decoded(key), decoded(value))).collect())
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// A parameter that may be missing.
    pub fn maybe<T: FromStr>(&self, key: &str) -> Result<Option<T>> {
        let parse = |text: &String| {
            text.parse()
                .map_err(|_| Fail::Trouble(format!("parameter {key}: found \"{text}\", which it cannot be")))
        };
        self.0.get(key).map(parse).transpose()
    }

    pub fn get<T: FromStr>(&self, key: &str) -> Result<T> {
        self.maybe(key)?.ok_or_else(|| Fail::Trouble(format!("parameter {key} is missing")))
    }

    /// A finite number.
    pub fn real(&self, key: &str) -> Result<f64> {
        let number: f64 = self.get(key)?;
        let wrong = || Fail::Trouble(format!("parameter {key}: found {number}, expected a finite number"));
        number.is_finite().then_some(number).ok_or_else(wrong)
    }
}

/// Text in which `%2f` stands for a byte.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    while let Some((&first, more)) = rest.split_first() {
        rest = more;
        match (first, more) {
            (b'%', [a, b, more @ ..]) if digit(*a).is_some() && digit(*b).is_some() => {
                bytes.push(digit(*a).unwrap_or(0) << 4 | digit(*b).unwrap_or(0));
                rest = more;
            }
            (c, _) => bytes.push(c),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let parameters = Parameters::new("a=%2Fb%20c&n=3&bad=%zz");
        assert_eq!((parameters.text("a"), parameters.text("bad")), (Some("/b c"), Some("%zz")));
        assert!(parameters.get::<u64>("n").is_ok_and(|n| n == 3) && parameters.get::<u64>("a").is_err());
        let parameters = Parameters::new("x=inf");
        let Err(Fail::Trouble(words)) = parameters.real("x") else { panic!("expected words") };
        assert_eq!(words, "parameter x: found inf, expected a finite number");
    }
}
