//! Attributes of a dataset that are set after it was written (docs/datasets.md).

use super::json::{MAX_METADATA_BYTES, Member, check, compact, indented, members};
use super::{check_name, metadata, shortened};
use crate::error::{Error, Result};
use crate::format::{INLINE_BYTES, USER_STRING_BYTES};

/// The user string of the inline section before the block with the attributes of a dataset.
pub const ATTRIBUTES_CONVENTION: &[u8] = b"scda attributes 00";
/// The data of that section, which say to a person what follows.
pub const ATTRIBUTES_DATA: &[u8; INLINE_BYTES] = b"Below: attributes of a dataset.\n";
/// The attribute that is part of the name of a dataset or group: only the metadata that are written with it have it.
const NAME: &str = "scda_name";

/// The user string of the block with the attributes of the dataset whose data are the section at this offset, with the user string `name`.
#[must_use]
pub fn later_user(data: u64, name: &str) -> String {
    let before = format!("/{data}/");
    let name = shortened(name, USER_STRING_BYTES - before.len());
    before + &name
}

/// What such a user string says: where the section of the data begins, and the beginning of its user string.
#[must_use]
pub fn later_of(user: &[u8]) -> Option<(u64, &str)> {
    let (digits, name) = std::str::from_utf8(user).ok()?.strip_prefix('/')?.split_once('/')?;
    let data: u64 = digits.parse().ok()?;
    (data.to_string() == digits && check_name(name).is_ok()).then_some((data, name))
}

/// The attributes with some of them set, as another JSON object says: a member that is null takes one away. The others stay,
/// in their order; new ones come behind them.
///
/// # Errors
/// `Argument` for what is no JSON object, and for an attribute that only the writer of the data knows.
pub fn changed(attributes: &str, changes: &str) -> Result<String> {
    let changes = metadata::attributes(changes)?;
    let own = |member: Member<'_>| (member.key, compact(member.text));
    let mut all: Vec<(String, String)> = members(attributes.as_bytes())?.into_iter().map(own).collect();
    for (key, value) in members(changes.as_bytes())?.into_iter().map(own) {
        if key == NAME {
            return Err(Error::argument(format!("attributes: found {NAME}, which is not set later")));
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
/// `Argument` for what is no JSON object, or too much of it.
pub fn text(attributes: &str) -> Result<String> {
    let text = indented(&metadata::attributes(attributes)?) + "\n";
    let bytes = text.len() as u64;
    if bytes > MAX_METADATA_BYTES {
        return Err(Error::argument(format!(
            "attributes: found {bytes} bytes, expected at most {MAX_METADATA_BYTES}"
        )));
    }
    Ok(text)
}

/// The attributes that such a block has.
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
    use crate::error::ErrorKind;

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
