//! The names of a file: its own, the one while it is incomplete, and those of older files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The suffix of a file's name while an atomic write of it is incomplete: see [`part_path`].
pub const PART_SUFFIX: &str = ".scda-part";
/// The suffix of an older file's name while it waits for its numbered name: see [`waiting_path`].
const WAITING_SUFFIX: &str = ".scda-kept";
/// The suffix of the file that represents the lock of another one: see [`lock_path`].
const LOCK_SUFFIX: &str = ".scda-lock";
/// The longest name that file systems allow in a folder.
const MAX_NAME_BYTES: usize = 255;

/// The most links to follow from one name, the same number as in Linux.
const MAX_LINKS: usize = 40;

/// The file that an atomic write of `path` replaces: if `path` is a link, its target, whether that exists or
/// not.
#[must_use]
pub fn target_path(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            Err(_) => break,
        }
    }
    path
}

/// Where an atomic write of `path` (`WriteOptions::atomic`) goes until it is complete: a file in the folder
/// of [`target_path`] whose name ends with [`PART_SUFFIX`]. An interrupted write leaves it, and the next
/// write of `path` removes it.
#[must_use]
pub fn part_path(path: &Path) -> PathBuf {
    with_suffix(&target_path(path), PART_SUFFIX)
}

/// The file that jobs lock to write `path` if they cannot lock that file itself: it is next to
/// [`target_path`].
pub fn lock_path(path: &Path) -> PathBuf {
    with_suffix(&target_path(path), LOCK_SUFFIX)
}

/// The name with a suffix. If a name leaves no room for the suffix, the result is its beginning and a hash,
/// which distinguishes it from other names with this beginning.
#[must_use]
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    if name.len() + suffix.len() <= MAX_NAME_BYTES {
        let mut name = OsString::from(path);
        name.push(suffix);
        return PathBuf::from(name);
    }
    let bytes = name.as_bytes();
    // FNV-1a: the same in every build, so that the next job finds what this one has left.
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let end = format!("-{hash:016x}{suffix}");
    let mut kept = MAX_NAME_BYTES - end.len();
    // Not within a character.
    while bytes[kept] & 0xC0 == 0x80 && kept > 0 {
        kept -= 1;
    }
    let mut part = OsStr::from_bytes(&bytes[..kept]).to_owned();
    part.push(end);
    path.with_file_name(part)
}

/// The name of the file that had the name `path` `age` writes ago: `state.1.scda` for `state.scda`, which
/// itself has age 0.
#[must_use]
pub fn kept_path(path: &Path, age: u64) -> PathBuf {
    if age == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{age}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Where an older file is until it gets its name [`kept_path`], while the file with that name gets the next
/// one.
#[must_use]
pub fn waiting_path(kept: &Path) -> PathBuf {
    with_suffix(kept, WAITING_SUFFIX)
}

/// Like [`kept_path`], for the file that an atomic write of `path` replaces ([`target_path`]). A prefix for
/// ROMIO is kept if the file system knows the name as `real`, without it.
pub fn kept_target_path(path: &Path, real: &Path, age: u64) -> PathBuf {
    if age == 0 {
        return path.to_owned();
    }
    let mut kept = romio_prefix(path, real).to_owned();
    kept.push(kept_path(&target_path(real), age));
    kept.into()
}

/// The file that Open MPI's MPI-IO creates and removes on a rank while it opens a part, to see whether files
/// can be locked. A job that is killed at this moment leaves it.
pub fn lock_test(part: &Path, rank: u32) -> PathBuf {
    let mut name = OsString::from(part);
    name.push(format!(".locktest.{rank}"));
    PathBuf::from(name)
}

/// The folder that holds a file.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The name without a prefix that chooses a driver of ROMIO (`ufs:`, in upper or lower case, as in ROMIO).
/// Without a prefix, it is the same name.
#[must_use]
pub fn without_romio_prefix(path: &Path) -> &Path {
    const PREFIXES: [&str; 9] =
        ["ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:", "ime:"];
    let bytes = path.as_os_str().as_bytes();
    PREFIXES
        .iter()
        .filter_map(|prefix| {
            bytes
                .split_at_checked(prefix.len())
                .filter(|(found, rest)| found.eq_ignore_ascii_case(prefix.as_bytes()) && !rest.is_empty())
        })
        .map(|(_, rest)| Path::new(OsStr::from_bytes(rest)))
        .next()
        .unwrap_or(path)
}

/// What precedes `real` in `path`: see [`without_romio_prefix`].
pub fn romio_prefix<'a>(path: &'a Path, real: &Path) -> &'a OsStr {
    let rest = path.as_os_str().as_bytes().strip_suffix(real.as_os_str().as_bytes());
    OsStr::from_bytes(rest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_neighbours() {
        let part = |path: &Path| with_suffix(path, PART_SUFFIX);
        assert_eq!(part(Path::new("d/a.scda")), Path::new("d/a.scda.scda-part"));
        let longest = "x".repeat(245);
        assert_eq!(part(Path::new(&longest)), Path::new(&format!("{longest}.scda-part")));
        for (long, other) in [("é".repeat(127), "é".repeat(126) + "e"), ("x".repeat(246), "x".repeat(247))]
        {
            let path = Path::new("d").join(&long);
            let name = part(&path).file_name().unwrap().to_str().unwrap().to_owned();
            assert!(name.len() <= 255 && name.ends_with(".scda-part"), "{name}");
            assert_eq!(part(&path).parent(), Some(Path::new("d")));
            assert_ne!(part(&path), part(&Path::new("d").join(other)));
        }
        assert_eq!(folder(Path::new("a")), Path::new("."));
        assert_eq!(folder(Path::new("d/a")), Path::new("d"));
        assert_eq!(without_romio_prefix(Path::new("ufs:/x/y")), Path::new("/x/y"));
        assert_eq!(without_romio_prefix(Path::new("NFS:x")), Path::new("x"));
        for literal in ["my:file", "./nfs:x", "nfs:", "nf", "é:x"] {
            assert_eq!(without_romio_prefix(Path::new(literal)), Path::new(literal));
        }
        assert_eq!(lock_path(Path::new("d/a.scda")), Path::new("d/a.scda.scda-lock"));
    }

    #[test]
    fn links_are_followed_to_the_file_that_is_replaced() {
        use std::os::unix::fs::symlink;
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        std::fs::create_dir(at("folder")).unwrap();
        symlink("folder/second", at("first")).unwrap();
        symlink("not there", at("folder/second")).unwrap();
        assert_eq!(target_path(&at("first")), at("folder/not there"));
        assert_eq!(part_path(&at("first")), at("folder/not there.scda-part"));
        assert_eq!(part_path(&at("plain")), at("plain.scda-part"));
        let prefixed = Path::new("ufs:").as_os_str().to_owned();
        let with_prefix = |path: PathBuf| PathBuf::from([prefixed.clone(), path.into()].join(OsStr::new("")));
        for (age, kept) in [(0, "first"), (2, "folder/not there.2")] {
            assert_eq!(kept_target_path(&at("first"), &at("first"), age), at(kept));
            let named = kept_target_path(&with_prefix(at("first")), &at("first"), age);
            assert_eq!(named, with_prefix(at(kept)));
        }
        symlink("circle", at("circle")).unwrap();
        assert_eq!(target_path(&at("circle")), at("circle"));
    }
}
