//! Reads and adds attributes of the groups and datasets of meshes.

use super::MeshError;
use super::checksum::{Checksum, MESH};
use crate::dataset::json::{compact, members};
use serde_json::Value;

/// The value of an attribute, as JSON without white space.
#[must_use]
pub fn value(attributes: &str, key: &str) -> Option<String> {
    let members = members(attributes.as_bytes()).unwrap_or_default();
    members.iter().find(|member| member.key == key).map(|member| compact(member.text))
}

/// The value of an attribute that is a whole number; if it is too large, the largest one.
#[must_use]
pub fn whole_number(attributes: &str, key: &str) -> Option<u64> {
    let value = value(attributes, key)?;
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().unwrap_or(u64::MAX))
}

/// The value of an attribute that is a text.
#[must_use]
pub fn text(attributes: &str, key: &str) -> Option<String> {
    serde_json::from_str(&value(attributes, key)?).ok()
}

/// The mesh that the attributes of a dataset refer to; `None` if there is none, or if the value is not a
/// checksum.
#[must_use]
pub fn mesh(attributes: &str) -> Option<String> {
    let value = value(attributes, MESH)?;
    Some(match serde_json::from_str(&value) {
        Ok(Value::String(text)) => text,
        _ => value,
    })
}

/// Requires that the attributes of a part, if they refer to a mesh, refer to the one with this checksum.
///
/// # Errors
/// If they refer to another mesh.
pub fn expect_mesh(
    attributes: &str,
    part: &'static str,
    checksum: Checksum,
    whose: &str,
) -> Result<(), MeshError> {
    match mesh(attributes).filter(|found| *found != checksum.to_string()) {
        Some(_) => {
            let found = value(attributes, MESH).unwrap_or_default();
            let expected = format!("expected \"{checksum}\", the checksum of the mesh {whose}");
            Err(MeshError::new(part, format!("attribute {MESH}: found {found}, {expected}")))
        }
        None => Ok(()),
    }
}

/// The attributes with a reference to the mesh, which replaces an existing one. Attributes that are not a
/// JSON object are returned unchanged; writing them reports the error.
#[must_use]
pub fn with_mesh(attributes: &str, checksum: Checksum) -> String {
    let Ok(members) = members(attributes.as_bytes()) else { return attributes.to_owned() };
    let mesh = format!("\"{checksum}\"");
    let mut all: Vec<_> = members.iter().map(|member| (&*member.key, member.text)).collect();
    match all.iter_mut().find(|(key, _)| *key == MESH) {
        Some((_, text)) => *text = &mesh,
        None => all.insert(0, (MESH, &mesh)),
    }
    let all = all.iter().map(|(key, text)| format!("{}:{text}", Value::from(*key)));
    format!("{{{}}}", all.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mesh_stands_first_or_where_it_stood() {
        let checksum = Checksum(0xab);
        for (attributes, expected) in [
            ("{}", r#"{"scda_mesh":"00000000000000ab"}"#),
            (r#"{ "units": "m" }"#, r#"{"scda_mesh":"00000000000000ab","units":"m"}"#),
            (
                r#"{"a\"": [1, {}], "scda_mesh": 3, "b": 1}"#,
                r#"{"a\"":[1, {}],"scda_mesh":"00000000000000ab","b":1}"#,
            ),
            ("[]", "[]"),
        ] {
            assert_eq!(with_mesh(attributes, checksum), expected);
        }
        assert_eq!(mesh(&with_mesh("{}", checksum)), Some(checksum.to_string()));
        assert_eq!((mesh("{}"), mesh(r#"{"scda_mesh": [1]}"#)), (None, Some("[1]".to_owned())));
    }
}
