//! Matches sections with selections.

use crate::datasets::{Item, numbers_added};
use crate::fail::{Fail, Result};
use crate::output::escape;
use scda::{Reader, UserString};
use scda_format::dataset::additions::is_internal;
use scda_format::dataset::{stored_name, without_root};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// Numbers of sections, or a pattern for user strings.
#[derive(Clone)]
pub enum Selection {
    /// Ranges that include both ends.
    Numbers(Vec<(u64, u64)>),
    Pattern(Vec<char>),
}

impl FromStr for Selection {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let number =
            |text: &str| text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let range = |text: &str| match text.split_once('-') {
            None => number(text).map(|n| (n, n)),
            Some((from, "")) => Some((number(from)?, u64::MAX)),
            Some((from, to)) => Some((number(from)?, number(to)?)),
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        let is_pattern = text.contains(['*', '?']);
        let is_long = !is_pattern && text.len() > scda::USER_STRING_BYTES;
        let user = if is_long { stored_name(without_root(text)) } else { text.into() };
        Ok(ranges.map_or_else(|| Self::Pattern(user.chars().collect()), Self::Numbers))
    }
}

/// How closely a selection matches a section. What is closer takes precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// By its number, or by a pattern.
    Pattern,
    /// By its user string, with slashes in front of it.
    WithoutRoot,
    /// By its user string.
    Exact,
}

/// The form in messages.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |&(from, to): &(u64, u64)| match to {
            _ if from == to => from.to_string(),
            u64::MAX => format!("{from}-"),
            _ => format!("{from}-{to}"),
        };
        match self {
            Self::Numbers(ranges) => f.write_str(&ranges.iter().map(word).collect::<Vec<_>>().join(",")),
            Self::Pattern(pattern) => write!(f, "\"{}\"", pattern.iter().collect::<String>()),
        }
    }
}

impl Selection {
    /// True if the section with this number matches. If each section counts by itself, as with --raw, patterns also
    /// match the sections that belong to datasets, groups and streams; otherwise only their own user string does.
    pub fn has(&self, number: u64, user: &UserString, raw: bool) -> bool {
        match self {
            Self::Numbers(_) => self.has_number(number),
            Self::Pattern(_) if !raw && is_internal(user) => self.is_name(user),
            Self::Pattern(pattern) => fits(pattern, &escape(user).chars().collect::<Vec<_>>()),
        }
    }

    /// True if the selection contains this number.
    fn has_number(&self, number: u64) -> bool {
        matches!(self, Self::Numbers(ranges) if ranges.iter().any(|&(from, to)| (from..=to).contains(&number)))
    }

    /// True if a name matches.
    pub fn has_name(&self, name: &str) -> bool {
        matches!(self, Self::Pattern(pattern) if fits(pattern, &escape(name.as_bytes()).chars().collect::<Vec<_>>()))
    }

    /// How closely the selection matches a section; `None` if it does not.
    pub fn closeness(&self, number: u64, user: &UserString, raw: bool) -> Option<Closeness> {
        match () {
            () if self.is_text(user) => Some(Closeness::Exact),
            () if self.is_name(user) => Some(Closeness::WithoutRoot),
            () => self.has(number, user, raw).then_some(Closeness::Pattern),
        }
    }

    fn is_text(&self, user: &UserString) -> bool {
        matches!(self, Self::Pattern(pattern) if escape(user).chars().eq(pattern.iter().copied()))
    }

    /// True if the selection is this user string, character by character, perhaps with slashes in front.
    pub fn is_name(&self, user: &UserString) -> bool {
        let Self::Pattern(pattern) = self else { return false };
        let (text, user) = (pattern.iter().collect::<String>(), escape(user));
        text == user || without_root(&text) == user
    }

    /// The number in the selection, if there is only one.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Numbers(ranges) => match ranges[..] {
                [(from, to)] if from == to => Some(from),
                _ => None,
            },
            Self::Pattern(_) => None,
        }
    }

    /// The user string that equals the selection, character by character, if nothing in it is escaped.
    pub fn user_string(&self) -> Option<String> {
        let Self::Pattern(pattern) = self else { return None };
        let text: String = pattern.iter().collect();
        (escape(text.as_bytes()) == text).then_some(text)
    }

    /// True if the selection contains a number larger than that of the last section.
    fn is_beyond(&self, last: u64) -> bool {
        match self {
            Self::Numbers(ranges) => ranges.iter().any(|&(from, to)| last < from && from <= to),
            Self::Pattern(_) => false,
        }
    }

    fn has_zero(&self) -> bool {
        matches!(self, Self::Numbers(ranges) if ranges.iter().any(|&(from, _)| from == 0))
    }

    /// True if neither this section nor a later one can match.
    pub fn ends_before(&self, number: u64) -> bool {
        match self {
            Self::Numbers(ranges) => ranges.iter().all(|&(_, to)| to < number),
            Self::Pattern(_) => false,
        }
    }
}

/// True if any of the selections [has](Selection::has) the section, or if there are none.
pub fn any(selections: &[Selection], number: u64, user: &UserString, raw: bool) -> bool {
    selections.is_empty() || selections.iter().any(|selection| selection.has(number, user, raw))
}

/// Like [`any`], for an item: it matches if one of its sections does. Later additions to a dataset belong to it: the
/// reader finds their numbers, and returns to the header of the item. Without a reader, each section counts by itself.
///
/// # Errors
/// The errors of looking up these numbers.
pub fn any_of(selections: &[Selection], item: &Item, reader: Option<&mut Reader>) -> Result<bool> {
    let raw = reader.is_none();
    let mut sections = (item.number..).zip(item.sections());
    let is_meant = sections.any(|(number, section)| any(selections, number, &section.user, raw));
    let names_later = |selection: &Selection| {
        matches!(selection, Selection::Numbers(_)) && !selection.ends_before(item.last() + 1)
    };
    let (Some(dataset), Some(reader)) = (item.dataset(), reader) else { return Ok(is_meant) };
    if is_meant || !selections.iter().any(names_later) {
        return Ok(is_meant);
    }
    let added = numbers_added(reader, dataset)?;
    reader.seek(item.section.offset)?;
    reader.next_section(true)?;
    Ok(added.iter().any(|&number| selections.iter().any(|selection| selection.has_number(number))))
}

/// True if there are selections, but none of them can match the section with this number or a later one.
pub fn none_from(selections: &[Selection], number: u64) -> bool {
    !selections.is_empty() && selections.iter().all(|selection| selection.ends_before(number))
}

/// Fails if a selection contains a number beyond the `count` sections of the file.
pub fn check(selections: &[Selection], name: &str, count: u64) -> Result<()> {
    if selections.iter().any(Selection::has_zero) {
        return Err(Fail::Trouble("--select: found section 0, expected 1 or more".to_owned()));
    }
    if selections.iter().any(|selection| selection.is_beyond(count)) {
        return Err(Fail::file(name, format_args!("--select names a section beyond its {count} sections")));
    }
    Ok(())
}

/// Fails if there are selections, and they have selected nothing.
pub fn check_some(selections: &[Selection], name: &str, selected: u64) -> Result<()> {
    if selected == 0 && !selections.is_empty() {
        return Err(Fail::file(name, "--select matches none of its sections"));
    }
    Ok(())
}

/// Like [`matches`]; the pattern may begin with the slash with which paths begin in other formats.
fn fits(pattern: &[char], text: &[char]) -> bool {
    matches(pattern, text) || matches!(pattern, ['/', rest @ ..] if !rest.is_empty() && matches(rest, text))
}

/// `*` stands for any text and `?` for any character.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to continue if the last star stands for one more character.
    let mut retry = None;
    loop {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
                continue;
            }
            Some(&c) if t < text.len() && (c == '?' || c == text[t]) => {
                p += 1;
                t += 1;
                continue;
            }
            None if t == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((star, from)) if from < text.len() => {
                retry = Some((star, from + 1));
                (p, t) = (star + 1, from + 1);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_its_user_string() {
        let name = "a group/".repeat(10) + "u";
        let Ok(selection) = name.parse::<Selection>();
        let user = UserString::new(scda_format::dataset::stored_name(&name).as_bytes()).unwrap();
        assert!(selection.has(0, &user, false) && selection.is_name(&user) && user.len() <= 58);
        let Ok(other) = (name + "v").parse::<Selection>();
        assert!(!other.has(0, &user, false));
    }

    #[test]
    fn patterns() {
        let matches = |pattern: &str, text: &str| {
            matches(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
        };
        for (pattern, text) in
            [("a", "a"), ("*", ""), ("a*c", "abbc"), ("?é*", "xéy"), ("*b*b", "abab"), ("", "")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("?", ""), ("a*c", "abcd"), ("*b", "ba"), ("", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
