//! The environment variables of the library. Nothing else reads the environment.
//!
//! | variable | value | ranks | meaning |
//! | --- | --- | --- | --- |
//! | `SCDA_IO` | `mpi` or `posix` | 0 | the driver, where the parameters leave the choice to the library |
//! | `SCDA_COHERENT` | 0 or 1 | 0 | all nodes see at once what one has written, or do not: instead of what is known of the file system |
//! | `SCDA_CHECK` | 0 or 1 | 0 | 1: the ranks compare their arguments in every call, and say when they wait long for others |
//! | `SCDA_SHARED_MEMORY` | 0 or 1 | any | 0: the ranks of a node share no memory |
//! | `SCDA_WRITERS_PER_NODE` | 0 to 1024 | 0 | the parameter of this name, where that is 0 |
//! | `SCDA_STRIPE_BYTES` | 0 to 2³² | 0 | the parameter of this name, where that is 0 |
//! | `SCDA_STRIPE_COUNT` | 0 to 2000 | 0 | the parameter of this name, where that is 0 |
//! | `SCDA_BACKGROUND_BYTES` | 0, or from 2²⁰ on | 0 | the parameter of this name, where that is 0; nothing with MPI-IO |
//! | `SCDA_STATISTICS` | 0 or 1 | all | 1: rank 0 prints a line for each file that is closed |
//! | `SCDA_NODE_RANKS` | 0 or more | all | so many consecutive ranks count as a node, to try several on one machine; 0: real nodes |
//!
//! Every rank reads all variables when it opens a file. An empty value counts as none; an invalid one on any rank is
//! an error on all.

use crate::error::{Error, Result};
use std::ffi::OsString;
use std::ops::RangeInclusive;

/// The names of all variables.
pub const NAMES: [&str; 10] = [
    "SCDA_IO",
    "SCDA_COHERENT",
    "SCDA_CHECK",
    "SCDA_SHARED_MEMORY",
    "SCDA_WRITERS_PER_NODE",
    "SCDA_STRIPE_BYTES",
    "SCDA_STRIPE_COUNT",
    "SCDA_BACKGROUND_BYTES",
    "SCDA_STATISTICS",
    "SCDA_NODE_RANKS",
];

/// The most aggregators of a node that are allowed.
pub const MAX_WRITERS: u64 = 1024;
/// The longest stripe: file systems count its bytes in 32 bits.
pub const MAX_STRIPE_BYTES: u64 = 1 << 32;
/// The most stripes of a file on Lustre.
pub const MAX_STRIPES: u64 = 2000;
/// The least memory for writing in the background.
pub const LEAST_BACKGROUND_BYTES: u64 = 1 << 20;

/// The values of `SCDA_IO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// MPI-IO.
    Mpi,
    /// POSIX.
    Posix,
}

/// The settings in the environment of this process. Without its variable, a number is 0, and any other
/// setting `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `SCDA_IO`.
    pub io: Option<Io>,
    /// `SCDA_COHERENT`.
    pub coherent: Option<bool>,
    /// `SCDA_CHECK`.
    pub check: Option<bool>,
    /// `SCDA_SHARED_MEMORY`.
    pub shared_memory: Option<bool>,
    /// `SCDA_WRITERS_PER_NODE`.
    pub writers_per_node: u64,
    /// `SCDA_STRIPE_BYTES`.
    pub stripe_bytes: u64,
    /// `SCDA_STRIPE_COUNT`.
    pub stripe_count: u64,
    /// `SCDA_BACKGROUND_BYTES`.
    pub background_bytes: u64,
    /// `SCDA_STATISTICS`.
    pub statistics: Option<bool>,
    /// `SCDA_NODE_RANKS`.
    pub node_ranks: u64,
}

impl Environment {
    /// Reads all variables.
    ///
    /// # Errors
    /// `Argument`, with the name of the variable, for an invalid value.
    pub fn read() -> Result<Self> {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(value: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let [
            io,
            coherent,
            check,
            shared_memory,
            writers,
            stripe,
            stripes,
            background,
            statistics,
            node_ranks,
        ] = NAMES.map(|name| Variable { name, value: value(name).filter(|value| !value.is_empty()) });
        Ok(Self {
            io: io.one_of([("mpi", Io::Mpi), ("posix", Io::Posix)])?,
            coherent: coherent.flag()?,
            check: check.flag()?,
            shared_memory: shared_memory.flag()?,
            writers_per_node: writers.number(1..=MAX_WRITERS)?,
            stripe_bytes: stripe.number(1..=MAX_STRIPE_BYTES)?,
            stripe_count: stripes.number(1..=MAX_STRIPES)?,
            background_bytes: background.number(LEAST_BACKGROUND_BYTES..=(u64::MAX >> 1) - 1)?,
            statistics: statistics.flag()?,
            node_ranks: node_ranks.number(1..=u64::from(u32::MAX))?,
        })
    }
}

struct Variable {
    name: &'static str,
    value: Option<OsString>,
}

impl Variable {
    fn parse<T>(&self, parse: impl FnOnce(&str) -> Option<T>, expected: &str) -> Result<Option<T>> {
        let Some(found) = &self.value else { return Ok(None) };
        found.to_str().and_then(parse).map(Some).ok_or_else(|| {
            Error::argument(format!("{}: found \"{}\", expected {expected}", self.name, found.display()))
        })
    }

    fn one_of<T: Copy>(&self, values: [(&str, T); 2]) -> Result<Option<T>> {
        let expected = format!("\"{}\" or \"{}\"", values[0].0, values[1].0);
        self.parse(|text| values.iter().find(|(word, _)| *word == text).map(|(_, value)| *value), &expected)
    }

    fn flag(&self) -> Result<Option<bool>> {
        self.one_of([("0", false), ("1", true)])
    }

    /// 0, or a number in this range.
    fn number(&self, range: RangeInclusive<u64>) -> Result<u64> {
        let (least, most) = (range.start(), range.end());
        let expected = match least {
            1 => format!("a number from 0 to {most}"),
            _ => format!("0, or a number from {least} to {most}"),
        };
        let parse = |text: &str| text.parse().ok().filter(|found| *found == 0 || range.contains(found));
        Ok(self.parse(parse, &expected)?.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Environment> {
        Environment::of(|asked| (asked == name).then(|| value.into()))
    }

    #[test]
    fn without_variables_nothing_is_said() {
        assert_eq!(Environment::of(|_| None).unwrap(), Environment::default());
    }

    #[test]
    fn values_are_taken_and_others_are_errors_that_name_the_variable() {
        let io = Environment { io: Some(Io::Posix), ..Environment::default() };
        assert_eq!(with("SCDA_IO", "posix").unwrap(), io);
        let ranks = Environment { node_ranks: 2, ..Environment::default() };
        assert_eq!(with("SCDA_NODE_RANKS", "2").unwrap(), ranks);
        assert_eq!(with("SCDA_WRITERS_PER_NODE", "0").unwrap(), Environment::default());
        for name in NAMES {
            assert_eq!(with(name, "").unwrap(), Environment::default());
            for value in ["yes", "-1", "1 "] {
                let text = with(name, value).unwrap_err().to_string();
                assert!(text.contains(&format!("{name}: found \"{value}\", expected ")), "{text}");
            }
        }
        for (name, value, expected) in [
            ("SCDA_WRITERS_PER_NODE", "1025", "a number from 0 to 1024"),
            ("SCDA_BACKGROUND_BYTES", "1000", "0, or a number from 1048576 to 9223372036854775806"),
            ("SCDA_CHECK", "2", "\"0\" or \"1\""),
        ] {
            let text = with(name, value).unwrap_err().to_string();
            assert!(text.ends_with(&format!("{name}: found \"{value}\", expected {expected}")), "{text}");
        }
    }
}
