//! The report in JSON.

use super::finding::{Fault, Note, Scan, Sealing};
use crate::facts;
use crate::files::Input;
use scda::ErrorKind;
use serde_json::{Map, Value, json};

/// Everything that is known of a file, as JSON.
pub fn as_json(input: &Input, scan: &Scan) -> Value {
    let findings = scan.findings.iter().map(|finding| {
        let mut object = Map::new();
        object.insert("section".into(), finding.number.into());
        if let Some(section) = finding.section {
            object = facts::facts(finding.number, &section);
            object.shift_remove("number");
            object.shift_insert(0, "section".into(), finding.number.into());
        } else if let Some(user) = finding.user {
            facts::put_bytes(&mut object, "user", &user);
        }
        if let Some(seal) = finding.seal {
            object.shift_insert(0, "seal".into(), seal.into());
        }
        if let Some(name) = finding.name {
            facts::put_bytes(&mut object, "name", &name);
        }
        object.insert("element".into(), finding.element.into());
        object.insert("whole_elements".into(), finding.leading.into());
        let error = match &finding.error {
            Fault::Invalid(error) => facts::error(error),
            Fault::Words(words) | Fault::NoMemory(words) => {
                let is_forest = matches!(finding.error, Fault::Words(_));
                let kind = if is_forest { ErrorKind::Format } else { ErrorKind::Memory };
                json!({ "code": kind.code(), "kind": kind.text(), "message": words, "offset": null })
            }
        };
        object.insert("error".into(), error);
        Value::Object(object)
    });
    let is_invalid =
        scan.findings.iter().any(|finding| matches!(finding.error, Fault::Invalid(_) | Fault::Words(_)));
    // Null if unknown. Only a seal can tell that a file has all of its sections.
    let is_cut = is_invalid || scan.uncommitted().is_some();
    let complete = if is_cut { Some(false) } else { scan.is_sealed().then_some(true) };
    let sealed = scan.sealed.map(|sealed| {
        let Sealing { seals, sections, bytes } = sealed;
        json!({ "seals": seals, "sections": sections, "bytes": bytes })
    });
    let valid = (is_invalid || scan.findings.is_empty()).then_some(!is_invalid);
    let mut report = json!({
        "file": input.name(),
        "valid": valid,
        "complete": complete,
        "bytes": scan.size,
        "sealed": sealed,
        "sections": scan.sections,
        "whole_sections": scan.whole,
        "whole": { "sections": scan.first_sections, "bytes": scan.first_end },
        "findings": findings.collect::<Vec<_>>(),
    });
    if !scan.notes.is_empty() {
        let note = |note: &Note| json!({ "section": note.number, "message": note.words });
        report["notes"] = scan.notes.iter().map(note).collect();
    }
    report
}
