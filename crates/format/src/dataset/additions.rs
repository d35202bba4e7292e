//! Later additions to a dataset: attributes and rows (docs/datasets.md).

use super::json::{JsonMember, MAX_METADATA_BYTES, check, compact, in_lines, members, value};
use super::rounding::{ABSOLUTE, RELATIVE};
use super::{
    DATASET_CONVENTION, Dataset, GROUP_CONVENTION, RESERVED_PREFIX, check_name, metadata, shortened,
};
use crate::header::SectionType;
use crate::streams::STREAMS;
use crate::{INLINE_BYTES, USER_STRING_BYTES};
use scda_base::error::{Error, Result, quote};
use scda_base::floats::in_default;
use std::fmt;

/// The user string of the inline section before a block with attributes of a dataset.
pub const ATTRIBUTES_CONVENTION: &[u8] = b"scda attributes 00";
/// The data of that section, which tell a person what follows.
pub const ATTRIBUTES_DATA: &[u8; INLINE_BYTES] = b"Below: attributes of a dataset.\n";
/// The attribute with a part of the name of a dataset or group: only the metadata written with the name have it.
pub const NAME: &str = "scda_name";

/// The user string of the block before rows that are added to a dataset.
pub const ROWS_CONVENTION: &[u8] = b"scda added rows 00";
/// The attribute of that block with the number of rows that the dataset had before.
const FIRST_ROW: &str = "scda_first_row";
/// The attribute of a dataset with its maximum shape.
const MAX_SHAPE: &str = "scda_max_shape";
/// The attribute of rows with the first number of that shape.
const MAX_ROWS: &str = "scda_max_rows";
/// The beginning of the user strings of a block with attributes and of a section with rows.
const ATTRIBUTES_MARK: &str = "/";
const ROWS_MARK: &str = "/+";

/// What is added to a dataset later: a pair of sections, the second of which refers to the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addition {
    /// Attributes that replace those of the dataset.
    Attributes,
    /// Rows that follow those of the dataset.
    Rows,
}

impl Addition {
    /// The user string of the first section, which announces the second.
    #[must_use]
    pub fn convention(self) -> &'static [u8] {
        match self {
            Self::Attributes => ATTRIBUTES_CONVENTION,
            Self::Rows => ROWS_CONVENTION,
        }
    }

    /// The user string of the second section, for the dataset whose data are the section at this offset, with the user
    /// string `name`.
    #[must_use]
    pub fn user(self, data: u64, name: &str) -> String {
        match self {
            Self::Attributes => later_user(data, name),
            Self::Rows => rows_user(data, name),
        }
    }
}

/// The form in messages.
impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attributes => "attributes",
            Self::Rows => "rows",
        })
    }
}

/// The addition that a section announces, if it can be the first of the pair.
#[must_use]
pub fn announced(section_type: SectionType, user: &[u8]) -> Option<Addition> {
    match section_type {
        SectionType::Inline if user == ATTRIBUTES_CONVENTION => Some(Addition::Attributes),
        SectionType::Block if user == ROWS_CONVENTION => Some(Addition::Rows),
        _ => None,
    }
}

/// The addition that a user string names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdditionName {
    /// What is added.
    pub addition: Addition,
    /// The offset of the section with the dataset's data.
    pub data: u64,
}

/// The addition that this user string names, if it can be that of the second of the pair.
#[must_use]
pub fn named(user: &[u8]) -> Option<AdditionName> {
    let of = |addition| move |(data, _)| AdditionName { addition, data };
    rows_of(user).map(of(Addition::Rows)).or_else(|| later_of(user).map(of(Addition::Attributes)))
}

/// As [`named`], if the section has the type of the addition.
#[must_use]
pub fn added_to(section_type: SectionType, user: &[u8]) -> Option<AdditionName> {
    named(user).filter(|named| match section_type {
        SectionType::Inline => false,
        SectionType::Block => named.addition == Addition::Attributes,
        SectionType::Array | SectionType::Varray => named.addition == Addition::Rows,
    })
}

/// The user string of the block with attributes for the dataset whose data are the section at this offset, with the
/// user string `name`.
#[must_use]
pub fn later_user(data: u64, name: &str) -> String {
    linked(ATTRIBUTES_MARK, data, name)
}

/// The meaning of such a user string: the offset of the section with the data, and the beginning of its user string.
#[must_use]
pub fn later_of(user: &[u8]) -> Option<(u64, &str)> {
    linked_of(ATTRIBUTES_MARK, user)
}

/// Like [`later_user`], for the section with rows that were added to the dataset.
#[must_use]
pub fn rows_user(data: u64, name: &str) -> String {
    linked(ROWS_MARK, data, name)
}

/// Like [`later_of`], for rows.
#[must_use]
pub fn rows_of(user: &[u8]) -> Option<(u64, &str)> {
    linked_of(ROWS_MARK, user)
}

/// True if sections with this user string belong to a convention, of any version, or are additions to a dataset:
/// users know them as a part of something that has a name.
#[must_use]
pub fn is_internal(user: &[u8]) -> bool {
    let is_number =
        |end: &[u8]| matches!(end, [b' ', tens, ones] if [tens, ones].iter().all(|c| c.is_ascii_digit()));
    let is_convention = user.starts_with(RESERVED_PREFIX.as_bytes())
        && user.last_chunk::<3>().is_some_and(|end| is_number(end));
    is_convention || later_of(user).is_some() || rows_of(user).is_some()
}

/// A description of an addition, given the user string of its section, which means nothing to users.
#[must_use]
pub fn addition(user: &[u8]) -> Option<String> {
    let rows = rows_of(user).map(|(_, name)| format!("rows of the dataset \"{name}\""));
    rows.or_else(|| later_of(user).map(|(_, name)| format!("attributes of the dataset \"{name}\"")))
}

/// What messages call a section with this user string.
#[must_use]
pub fn title(user: &[u8]) -> String {
    addition(user).unwrap_or_else(|| format!("section {}", quote(user)))
}

/// True if a section with this user string only describes what follows it.
#[must_use]
pub fn is_followed(user: &[u8]) -> bool {
    [DATASET_CONVENTION, GROUP_CONVENTION, ROWS_CONVENTION, ATTRIBUTES_CONVENTION, STREAMS].contains(&user)
}

/// What messages call the first of the sections with these user strings. If it only describes what follows, that
/// gives it its name.
pub fn title_of_first(mut users: &mut dyn Iterator<Item = &[u8]>) -> Option<String> {
    let first = users.next()?;
    let named = if is_followed(first) { (&mut users).find(|user| !is_followed(user)) } else { None };
    Some(title(named.unwrap_or(first)))
}

/// The attributes of rows, if the dataset has `first` rows before them, and `most` at most, if that is given.
#[must_use]
pub fn rows_attributes(first: u64, most: Option<u64>) -> String {
    let most = most.map_or_else(String::new, |most| format!(r#","{MAX_ROWS}":{most}"#));
    format!(r#"{{"{FIRST_ROW}":{first}{most}}}"#)
}

/// The maximum number of rows, given the attributes of the dataset or of rows.
#[must_use]
pub fn most_rows(attributes: &str) -> Option<u64> {
    let of_dataset = || attribute(attributes, MAX_SHAPE)?.get(0)?.as_u64();
    of_dataset().or_else(|| attribute(attributes, MAX_ROWS)?.as_u64())
}

/// The number of rows before those with these attributes.
#[must_use]
pub fn first_row(attributes: &str) -> Option<u64> {
    attribute(attributes, FIRST_ROW)?.as_u64()
}

/// Fails unless the rows have the type and fill value of the dataset, and the same size in each other dimension.
///
/// # Errors
/// `Argument`.
pub fn check_alike(dataset: &Dataset, rows: &Dataset) -> Result<()> {
    let Dataset { data_type, shape, .. } = dataset;
    let wrong = |what: String| Err(wrong_rows(dataset, &what));
    if rows.data_type != *data_type {
        return wrong(format!("found {}, expected {data_type}", rows.data_type));
    }
    if shape.is_empty() || rows.shape.len() != shape.len() || rows.shape[1..] != shape[1..] {
        let expected: Vec<_> = shape.iter().skip(1).map(u64::to_string).collect();
        let expected = match shape.len() {
            0 => "a dataset with dimensions".into(),
            _ => format!("[rows{}{}]", if expected.is_empty() { "" } else { ", " }, expected.join(", ")),
        };
        return wrong(format!("found the shape {:?}, expected {expected}", rows.shape));
    }
    if rows.fill_item() != dataset.fill_item() {
        return wrong("the fill value differs from that of the dataset".into());
    }
    Ok(())
}

/// Fails unless these rows can be added to the dataset, which then has `all` rows: they must be [alike](check_alike),
/// and have no larger bounds of rounding errors.
///
/// # Errors
/// `Argument`; `Range`.
pub fn check_rows(dataset: &Dataset, rows: &Dataset, all: u64) -> Result<()> {
    in_default(|| check_bounds(dataset, rows, all))
}

fn check_bounds(dataset: &Dataset, rows: &Dataset, all: u64) -> Result<()> {
    check_alike(dataset, rows)?;
    let wrong = |what: String| Err(wrong_rows(dataset, &what));
    if let Some(why) = &dataset.unsupported {
        return wrong(format!("found {why}, which this library cannot read"));
    }
    let bounds = [(RELATIVE, rows.max_relative_error), (ABSOLUTE, rows.max_absolute_error)];
    let are_rounded = bounds.iter().any(|(_, bound)| *bound > 0.0);
    for (key, bound) in bounds.into_iter().filter(|_| are_rounded) {
        let most = number(&dataset.attributes, key).unwrap_or(0.0);
        if bound > most {
            return wrong(format!("{key}: found {bound}, expected at most the {most} of the dataset"));
        }
        // The bounds of the dataset apply to all of its numbers.
        if bound == 0.0 && most > 0.0 {
            return wrong(format!("{key} is missing: the dataset has {most}"));
        }
    }
    if let Some(most) = most_rows(&dataset.attributes).filter(|&most| most < all) {
        return wrong(format!("found {all} rows in all, expected at most {most}, according to {MAX_SHAPE}"));
    }
    let mut shape = dataset.shape.clone();
    shape[0] = all;
    Dataset::new(dataset.name.as_str(), dataset.data_type, shape).data_bytes().map(drop)
}

fn wrong_rows(dataset: &Dataset, what: &str) -> Error {
    Error::argument(format!("rows of the dataset \"{}\": {what}", dataset.name))
}

/// The value of an attribute.
fn attribute(attributes: &str, key: &str) -> Option<serde_json::Value> {
    let all = members(attributes.as_bytes()).ok()?;
    value(all.into_iter().find(|member| member.key == key)?.text)
}

fn number(attributes: &str, key: &str) -> Option<f64> {
    attribute(attributes, key)?.as_f64()
}

fn linked(mark: &str, data: u64, name: &str) -> String {
    let before = format!("{mark}{data}/");
    let name = shortened(name, USER_STRING_BYTES - before.len());
    before + &name
}

fn linked_of<'a>(mark: &str, user: &'a [u8]) -> Option<(u64, &'a str)> {
    let (digits, name) = std::str::from_utf8(user).ok()?.strip_prefix(mark)?.split_once('/')?;
    let data: u64 = digits.parse().ok()?;
    (data.to_string() == digits && check_name(name).is_ok()).then_some((data, name))
}

/// The attributes after a change by another JSON object: a member that is null removes an attribute. Others stay, in
/// their order; new ones follow them.
///
/// # Errors
/// `Argument` if it is no JSON object, and for an attribute that only the writer of the data knows.
pub fn changed(attributes: &str, changes: &str) -> Result<String> {
    let changes = metadata::attributes(changes)?;
    let own = |member: JsonMember<'_>| (member.key, compact(member.text));
    let mut all: Vec<(String, String)> = members(attributes.as_bytes())?.into_iter().map(own).collect();
    for (key, value) in members(changes.as_bytes())?.into_iter().map(own) {
        if key == NAME {
            return Err(Error::argument(format!("attributes: found {NAME}, which cannot be set later")));
        }
        let place = all.iter().position(|(other, _)| *other == key);
        match (place, &*value == "null") {
            (Some(place), true) => drop(all.remove(place)),
            (Some(place), false) => all[place].1 = value,
            (None, true) => {}
            (None, false) => all.push((key, value)),
        }
    }
    let all = all.into_iter().map(|(key, value)| format!("{}:{value}", serde_json::Value::from(key)));
    Ok(format!("{{{}}}", all.collect::<Vec<_>>().join(",")))
}

/// The text of the block.
///
/// # Errors
/// `Argument` if it is no JSON object, or too long.
pub fn text(attributes: &str) -> Result<String> {
    let text = in_lines(&metadata::attributes(attributes)?) + "\n";
    let bytes = text.len() as u64;
    if bytes > MAX_METADATA_BYTES {
        return Err(Error::argument(format!(
            "attributes: found {bytes} bytes, expected at most {MAX_METADATA_BYTES}"
        )));
    }
    Ok(text)
}

/// The attributes in such a block.
///
/// # Errors
/// `Format`, at a byte of the text; `Memory`.
pub fn attributes(text: &[u8]) -> Result<String> {
    members(text)?;
    let text = std::str::from_utf8(text).unwrap_or_default();
    check(text, 1)?;
    Ok(compact(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_base::error::ErrorKind;

    #[test]
    fn what_describes_a_section_has_the_title_of_that_section() {
        let title = |users: &[&'static [u8]]| title_of_first(&mut users.iter().copied());
        let added: &[u8] = b"scda added rows 00";
        assert_eq!(title(&[added, b"/+1696/rho"]).unwrap(), "rows of the dataset \"rho\"");
        assert_eq!(title(&[added, b"rho", b"u"]).unwrap(), "section \"rho\"");
        assert_eq!(title(&[b"u", b"rho"]).unwrap(), "section \"u\"");
        assert_eq!(title(&[added]).unwrap(), "section \"scda added rows 00\"");
        assert_eq!(title(&[]), None);
    }

    #[test]
    fn sections_of_conventions_are_internal() {
        use crate::streams::{STREAM_BYTES, STREAMS};
        let conventions = [
            DATASET_CONVENTION,
            GROUP_CONVENTION,
            ROWS_CONVENTION,
            ATTRIBUTES_CONVENTION,
            STREAMS,
            STREAM_BYTES,
        ];
        for user in conventions.into_iter().chain([&b"scda dataset 01"[..], b"/128/rho", b"/+128/rho"]) {
            assert!(is_internal(user), "{}", user.escape_ascii());
        }
        for user in ["", "/", "rho", "scda", "scda run 7", "scda 0", "a scda dataset 00", "/rho", "/x/rho"] {
            assert!(!is_internal(user.as_bytes()), "{user}");
        }
    }

    #[test]
    fn user_strings_name_a_section_and_its_dataset() {
        assert_eq!(later_user(1696, "flow/rho"), "/1696/flow/rho");
        let long = "x".repeat(58);
        for (data, name) in [(128, "rho"), (u64::MAX >> 1, "a/b"), (1024, &*long)] {
            let user = later_user(data, name);
            assert!(user.len() <= USER_STRING_BYTES);
            let (found, short) = later_of(user.as_bytes()).unwrap();
            assert_eq!((found, short == name), (data, name.len() < 50));
        }
        assert_ne!(later_user(1024, &long), later_user(1024, &("y".to_owned() + &long[1..])));
        for user in ["/", "/1", "/1/", "/01/a", "/+1/a", "1/a", "//a", "/1/a/", "/x/a"] {
            assert_eq!(later_of(user.as_bytes()), None, "{user}");
        }
    }

    #[test]
    fn others_stay_when_one_is_set() {
        let before = r#"{"units":"m","n":1.50}"#;
        for (changes, expected) in [
            ("{}", before),
            (r#"{"n": 2, "x": {"y": null}}"#, r#"{"units":"m","n":2,"x":{"y":null}}"#),
            (r#"{"units": null, "none": null}"#, r#"{"n":1.50}"#),
        ] {
            assert_eq!(changed(before, changes).unwrap(), expected);
        }
        for changes in ["[]", "{\"a\":1,\"a\":2}", "{\"scda_name\": \"a\"}", ""] {
            assert_eq!(changed(before, changes).unwrap_err().kind(), ErrorKind::Argument, "{changes}");
        }
        assert_eq!(attributes(text(before).unwrap().as_bytes()).unwrap(), before);
    }
}
