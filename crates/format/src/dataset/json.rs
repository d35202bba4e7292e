//! JSON of metadata. All of it is checked before any of it is used, and it is written in one layout.

use super::DataType;
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::floats::in_default;
use scda_base::memory::{self, reserve};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// The most bytes of metadata, so that no file makes a reader use much memory for them.
pub const MAX_METADATA_BYTES: u64 = 4 << 20;
/// A number of spaces that are removed at once.
const SPACES: &str = "                                ";
/// The most levels of nesting, including the metadata object itself.
pub const MAX_DEPTH: usize = 100;

/// A key of an object, with the text and the offset of its value.
pub struct JsonMember<'a> {
    /// The key without quotes and escapes.
    pub key: String,
    /// The value as it is written.
    pub text: &'a str,
    /// The offset of the value in the text.
    pub offset: u64,
}

/// The members of the object in the text of the metadata. Checks that all of it is valid JSON, nested no deeper than
/// [`MAX_DEPTH`], without duplicate keys in an object.
///
/// # Errors
/// `Format`, at the byte counted from the beginning of the text; `Memory`.
pub fn members(text: &[u8]) -> Result<Vec<JsonMember<'_>>> {
    if text.len() as u64 > MAX_METADATA_BYTES {
        let found = text.len();
        return Err(wrong(format!("found {found} bytes, expected at most {MAX_METADATA_BYTES}"), 0));
    }
    // The parser would look at each of the spaces that align the data to a page.
    let text = trimmed(text);
    let text = std::str::from_utf8(text).map_err(|error| {
        let at = error.valid_up_to();
        wrong(format!("found {}, which is not UTF-8", quote(&text[at..text.len().min(at + 4)])), at)
    })?;
    // The parser ends the process if it cannot allocate memory, so we try to allocate it first. Per byte of text, values
    // of one digit take the most.
    let tried = memory::temporary();
    reserve(&mut Vec::<u8>::new(), 32 * text.len())?;
    drop(tried);
    check(text, 0)?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let members = parser.deserialize_map(Members).map_err(|error| of_serde(text, &error))?;
    let start = text.as_ptr().addr();
    let offset = |raw: &RawValue| (raw.get().as_ptr().addr() - start) as u64;
    Ok(members
        .into_iter()
        .map(|(key, raw)| JsonMember { key, text: raw.get(), offset: offset(raw) })
        .collect())
}

/// A text without the line feed at its end, and without spaces before that.
pub fn trimmed(text: &[u8]) -> &[u8] {
    let mut text = text.strip_suffix(b"\n").unwrap_or(text);
    for spaces in [SPACES, " "] {
        while let Some(shorter) = text.strip_suffix(spaces.as_bytes()) {
            text = shorter;
        }
    }
    text
}

/// Fails unless a text is a valid JSON value according to [`members`], at this depth in the metadata.
///
/// # Errors
/// `Format`, like [`members`].
pub fn check(text: &str, depth: usize) -> Result<()> {
    checked(text, MAX_DEPTH - depth).map_err(|error| of_serde(text, &error))
}

/// Like [`check`], for JSON other than metadata, with at most this number of levels of nesting.
///
/// # Errors
/// The error of the parser, with line and column.
pub fn checked(text: &str, levels: usize) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let check = || ValueChecker { most: levels, levels }.deserialize(&mut parser).and_then(|()| parser.end());
    in_default(check)
}

/// The value of a text, if it is JSON.
pub fn value(text: &str) -> Option<Value> {
    in_default(|| serde_json::from_str(text).ok())
}

/// An error in metadata, at a byte of their text.
pub fn wrong(what: impl fmt::Display, at: usize) -> Error {
    Error::new(ErrorKind::Format, format!("metadata: {what}")).at(at as u64)
}

/// Converts an error of the parser: keeps its message without line and column, and adds the byte.
fn of_serde(text: &str, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let before = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(&*words, |(words, _)| words);
    let at = (before + column.saturating_sub(1)).min(text.len());
    // What JSON allows, but metadata do not.
    if error.is_data() || words == "number out of range" {
        return wrong(words, at);
    }
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(found) if words.starts_with("expected") => {
            wrong(format!("not JSON: found {}, {words}", quote(found.to_string().as_bytes())), at)
        }
        _ => wrong(format!("not JSON: {words}"), at),
    }
}

/// Reads the members of an object, and keeps their values as text.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// Parses a value without keeping anything.
#[derive(Clone, Copy)]
struct ValueChecker {
    /// The number of levels of nesting that are allowed, and how many of them are left.
    most: usize,
    levels: usize,
}

impl ValueChecker {
    /// The checker for the content of an array or object.
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        let Self { most, levels } = self;
        let levels = levels.checked_sub(1);
        let levels = levels.ok_or_else(|| E::custom(format!("found more than {most} levels of nesting")))?;
        Ok(Self { most, levels })
    }
}

impl<'de> DeserializeSeed<'de> for ValueChecker {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueChecker {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(key) = keys.replace(key) {
                return Err(de::Error::custom(format!("found the key {} twice", quote(key.as_bytes()))));
            }
            map.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// A valid JSON object with a line for each of its members, and no other white space; an empty object takes one line.
/// Strings and numbers stay as they are written.
#[must_use]
pub fn in_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let (mut depth, mut is_empty) = (0, true);
    for token in tokens(text) {
        depth -= usize::from(matches!(token, "}" | "]"));
        if (depth, is_empty, token) == (0, false, "}") {
            out.push('\n');
        }
        if depth == 1 && is_empty {
            out.push('\n');
            is_empty = false;
        }
        out.push_str(token);
        if (depth, token) == (1, ",") {
            out.push('\n');
        }
        depth += usize::from(matches!(token, "{" | "["));
    }
    out
}

/// Valid JSON without white space. Strings and numbers stay as they are written.
#[must_use]
pub fn compact(text: &str) -> String {
    tokens(text).collect()
}

/// The tokens of valid JSON.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    const WHITE: [char; 4] = [' ', '\t', '\r', '\n'];
    let mut rest = text.trim_start_matches(WHITE);
    std::iter::from_fn(move || {
        let first = *rest.as_bytes().first()?;
        let length = match first {
            b'"' => {
                let mut is_escaped = true;
                let end = rest.bytes().position(|byte| {
                    let ends = byte == b'"' && !is_escaped;
                    is_escaped = byte == b'\\' && !is_escaped;
                    ends
                });
                end.map_or(rest.len(), |end| end + 1)
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => rest.find(|c| WHITE.contains(&c) || "{}[],:".contains(c)).unwrap_or(rest.len()),
        };
        let (token, others) = rest.split_at(length);
        rest = others.trim_start_matches(WHITE);
        Some(token)
    })
}

/// The types that the attribute `scda_types` gives to others (docs/python.md).
pub struct DeclaredTypes(Option<Value>);

impl DeclaredTypes {
    /// Those of these attributes.
    #[must_use]
    pub fn of(attributes: &[JsonMember<'_>]) -> Self {
        let found = attributes.iter().find(|member| member.key == "scda_types");
        Self(found.and_then(|member| value(member.text)))
    }

    /// The type of this attribute, if it is given.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.as_ref()?.get(key)?.as_str()
    }
}

/// The type that holds all values of an attribute: bool, the integers of 64 bits, `float64`, or text. An empty
/// list has `float64`. Unless `is_text` is set, texts that stand for NaN and infinities are numbers
/// (docs/datasets.md, "Attributes").
#[must_use]
pub fn common_type(values: &[Value], is_text: bool) -> Option<DataType> {
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    let is_special = |value: &Value| matches!(value.as_str(), Some("NaN" | "Infinity" | "-Infinity"));
    Some(match values {
        [] => DataType::Float64,
        _ if all(Value::is_boolean) => DataType::Bool,
        _ if all(Value::is_i64) => DataType::Int64,
        _ if all(Value::is_u64) => DataType::Uint64,
        _ if values.iter().all(|value| value.is_number() || is_special(value) && !is_text) => {
            DataType::Float64
        }
        _ if all(Value::is_string) => DataType::String,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn error(text: &[u8]) -> String {
        match members(text) {
            Ok(_) => "none".into(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Format);
                error.to_string()
            }
        }
    }

    #[test]
    fn members_have_their_text_and_its_place() {
        let found = members(b" {\"a\" : [1, 2.50],\"\\u0062\":{\"c\":null}} \n").unwrap();
        let found: Vec<_> = found.iter().map(|m| (&*m.key, m.text, m.offset)).collect();
        assert_eq!(found, [("a", "[1, 2.50]", 8), ("b", "{\"c\":null}", 27)]);
    }

    #[test]
    fn what_is_not_metadata_is_an_error_at_its_byte() {
        for (text, expected) in [
            (&b"{\"a\": 1, \"a\": 2}"[..], "byte 11: metadata: found the key \"a\" twice"),
            (b"{\"x\": [{\"a\": 1,\n\"a\": 2}]}", "byte 18: metadata: found the key \"a\" twice"),
            (b"{\"a\": 1} x", "byte 9: metadata: not JSON: trailing characters"),
            (b"{\"a\": 1}\0", "byte 8: metadata: not JSON: trailing characters"),
            (b"{\"a\": NaN}", "byte 6: metadata: not JSON: found \"N\", expected value"),
            (b"{\"a\": 1e999}", "byte 10: metadata: number out of range"),
            (b"{\"a\": \"\xff\"}", "byte 7: metadata: found \"\\xff\\\"}\", which is not UTF-8"),
            (b"{\n\"a\": 1,}", "byte 9: metadata: not JSON: trailing comma"),
            (b"{\"a\": 1", "byte 6: metadata: not JSON: EOF while parsing an object"),
            (b"", "byte 0: metadata: not JSON: EOF while parsing a value"),
        ] {
            assert_eq!(error(text), expected);
        }
        assert!(error(b"[1]").contains("expected an object"));
        assert!(error(b"3").contains("expected an object"));
        let long = vec![b' '; 1 + (4 << 20)];
        assert_eq!(error(&long), "byte 0: metadata: found 4194305 bytes, expected at most 4194304");
    }

    #[test]
    fn nesting_has_a_bound() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        members(nested(MAX_DEPTH - 1).as_bytes()).unwrap();
        for n in [MAX_DEPTH, 1000, 1_000_000] {
            let error = members(nested(n).as_bytes()).err().unwrap();
            assert!(
                error.to_string().ends_with("metadata: found more than 100 levels of nesting"),
                "{error}"
            );
            assert!(matches!(error.offset(), Some(104 | 105)), "{error}");
        }
        check("[]", MAX_DEPTH - 1).unwrap();
        check("[]", MAX_DEPTH).unwrap_err();
        checked("[[]]", 2).unwrap();
        let error = checked("[[[]]]", 2).unwrap_err().to_string();
        assert!(error.starts_with("found more than 2 levels of nesting at line 1"), "{error}");
    }

    #[test]
    fn each_member_has_a_line() {
        let text = r#"{"a":[ 1.50,{ } , [] ],"b\"}":"x, {\\","c":{"d":1E5, "e":[{"f" : 1}]}}"#;
        let lines =
            "{\n\"a\":[1.50,{},[]],\n\"b\\\"}\":\"x, {\\\\\",\n\"c\":{\"d\":1E5,\"e\":[{\"f\":1}]}\n}";
        assert_eq!(in_lines(text), lines);
        assert_eq!(in_lines(lines), lines);
        assert_eq!(compact(lines), lines.replace('\n', ""));
        assert_eq!(in_lines(" { } "), "{}");
    }

    /// Any JSON value.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn layout_changes_no_value(value in values()) {
            let text = value.to_string();
            check(&text, 0).unwrap();
            let text = format!(r#"{{"a":{text},"b":{text}}}"#);
            let lines = in_lines(&text);
            prop_assert_eq!(compact(&lines), &*text);
            prop_assert_eq!(lines, text.replacen(r#"{"a""#, "{\n\"a\"", 1).replacen(&format!("{value},\"b\""), &format!("{value},\n\"b\""), 1).strip_suffix('}').unwrap().to_owned() + "\n}");
        }
    }
}
