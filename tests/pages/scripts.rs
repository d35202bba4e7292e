//! What scripts say where something is missing.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A check that was named and cannot run is an error: who asks for Miri is not to take silence for success.
#[test]
fn a_check_that_was_named_and_cannot_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let rustc = "case \"$*\" in -vV) echo host: none;; *) echo /nonexistent;; esac";
    for (name, text) in [("cargo", "exit 1"), ("rustc", rustc)] {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    for check in ["thread", "miri", "big-endian"] {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/sanitize.sh");
        let found = Command::new(script).arg(check).env("PATH", &path).output().unwrap();
        let text = String::from_utf8(found.stdout).unwrap();
        assert!(text.starts_with(&format!("skipped: {check}: something is missing: ")), "{text}");
        assert!(!found.status.success(), "{check}: {text}");
    }
}
