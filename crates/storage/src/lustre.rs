//! Lustre from user space: the layout of a new file, the stripes of an existing one, and group locks, through
//! requests that every client of Lustre supports. liblustreapi is not needed, and files on other file systems
//! are never asked.
//!
//! Sources: Lustre's user-space interface (`lustre_user.h`), and the manual pages `lfs-setstripe` and
//! `llapi_group_lock`. Any request may be refused, for example by an old server, because of a quota, or for
//! lack of permission; then the file has the layout of its folder, and ranks lock extents.

use super::calls::retry;
use super::descriptors;
use super::file_system::{FileSystem, LUSTRE};
use super::names::{folder, target_path};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::ioctl::{IntegerSetter, Opcode, Setter, Updater, ioctl, opcode};
use scda_base::environment::MAX_STRIPES;
use std::path::{Path, PathBuf};

/// The file gets no objects until a layout is set, or until it is opened again without this flag.
const DELAY_CREATE: u32 = 0o100_000_000 | 0x2000 | 0x100; // also O_ASYNC and O_NOCTTY, together
const SET_STRIPE: Opcode = opcode::write::<libc::c_long>(b'f', 154);
const GET_STRIPE: Opcode = opcode::write::<libc::c_long>(b'f', 155);
const GROUP_LOCK: Opcode = opcode::write::<libc::c_long>(b'f', 158);
const GROUP_UNLOCK: Opcode = opcode::write::<libc::c_long>(b'f', 159);

/// The kinds of layouts: one list of stripes, the same in a pool of servers, or several such components.
const MAGIC_V1: u32 = 0x0BD1_0BD0;
const MAGIC_V3: u32 = 0x0BD3_0BD0;
const MAGIC_COMPOSITE: u32 = 0x0BD6_0BD0;
const PATTERN_RAID0: u32 = 1;
/// A server may have several stripes of a file (since Lustre 2.13).
const PATTERN_OVERSTRIPED: u32 = 0x200;

/// The sizes of a layout without its list of objects, of the header of a composite layout, and of an entry in
/// it.
const PLAIN_BYTES: usize = 32;
const COMPOSITE_BYTES: usize = 32;
const ENTRY_BYTES: usize = 48;
/// The largest layout: the limit of Linux's extended attributes.
const MOST_BYTES: usize = 64 << 10;

/// Stripe sizes are multiples of this number of bytes (`LOV_MIN_STRIPE_SIZE`).
const STRIPE_UNIT: u64 = 64 << 10;
/// The stripe size of layouts that the library chooses.
const STRIPE_BYTES: u64 = 4 << 20;

/// The group of all ranks of a job. It must not be 0, and must be the same for all that write a file.
const GROUP: usize = 0x5CDA;

/// The stripes for each node that writes: one server is slower than a node (docs/model.md).
const STRIPES_PER_NODE: u64 = 2;

/// The layout of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of stripes, at most [`MAX_STRIPES`]. Lustre uses fewer if it has not enough servers.
    pub count: u64,
    /// The stripe size in bytes; 0: the default of the file system.
    pub bytes: u64,
    /// Whether a server may have several of the stripes, if Lustre is new enough.
    pub may_overstripe: bool,
}

/// What the user requests for a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutRequest {
    /// The number of stripes; 0: the library decides.
    pub count: u64,
    /// The stripe size in bytes; 0: the library decides.
    pub bytes: u64,
}

/// The layout for a new file that this many nodes write; `None`: that of its folder. The library chooses one
/// only for files that several nodes write, and only if neither the folder nor the file system has a layout
/// that somebody chose.
#[must_use]
pub fn layout_for(path: &Path, nodes: u64, wanted: LayoutRequest) -> Option<Layout> {
    let path = target_path(path);
    let is_lustre = FileSystem::of(&path).is_ok_and(|system| system.name == Some(LUSTRE));
    if is_lustre { choose(nodes, wanted, || is_chosen(folder(&path))) } else { None }
}

fn choose(nodes: u64, wanted: LayoutRequest, is_chosen: impl FnOnce() -> bool) -> Option<Layout> {
    // Lustre rejects other sizes.
    let is_valid = wanted.bytes > 0 && wanted.bytes.is_multiple_of(STRIPE_UNIT) && wanted.bytes < 1 << 32;
    let bytes = if is_valid { wanted.bytes } else { STRIPE_BYTES };
    let (count, may_overstripe) = match wanted.count {
        0 if nodes < 2 || is_chosen() => return None,
        0 => (STRIPES_PER_NODE * nodes, false),
        count => (count, true),
    };
    Some(Layout { count: count.min(MAX_STRIPES), bytes, may_overstripe })
}

/// Whether somebody chose the layout for files in this folder: by setting it for the folder, or as the
/// default of the file system. The latter is that of its root folder, and counts if it is composite or has
/// more than one stripe.
fn is_chosen(folder: &Path) -> bool {
    let Some(root) = uppermost(folder) else { return true };
    let found = default_of(&root);
    let is_of_system = !matches!(found, None | Some(StoredLayout { is_composite: false, count: 0..=1, .. }));
    is_of_system || root != folder && default_of(folder).is_some()
}

/// The root folder of the file system that contains this folder.
fn uppermost(folder: &Path) -> Option<PathBuf> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let device = |path: &Path| rustix::fs::stat(path).ok().map(|stat| stat.st_dev);
    let own = device(&folder)?;
    folder.ancestors().take_while(|path| device(path) == Some(own)).last().map(Path::to_owned)
}

/// The layout that was set for new files in a folder. If it cannot be read, it counts as set.
fn default_of(folder: &Path) -> Option<StoredLayout> {
    let unknown = StoredLayout { bytes: 0, count: 0, is_composite: true };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    match descriptors::open(folder, flags, Mode::empty()).and_then(|opened| layout_of(&opened)) {
        Ok(Some(found)) => Some(found).filter(|found| *found != StoredLayout::default()),
        Err(Errno::NODATA) => None,
        Ok(None) | Err(_) => Some(unknown),
    }
}

/// The known properties of a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StoredLayout {
    bytes: u64,
    count: u64,
    is_composite: bool,
}

impl StoredLayout {
    /// `None` for an unknown kind of layout.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match number(bytes, 0, 4)? {
            magic if magic == u64::from(MAGIC_COMPOSITE) => {
                // The last component covers the end of the file, and so most of a large one.
                let entries = usize::try_from(number(bytes, 14, 2)?).ok()?;
                let last = COMPOSITE_BYTES + entries.checked_sub(1)? * ENTRY_BYTES;
                let at = usize::try_from(number(bytes, last + 24, 4)?).ok()?;
                let inner = Self::plain(bytes.get(at..)?)?;
                Some(Self { is_composite: true, ..inner })
            }
            _ => Self::plain(bytes),
        }
    }

    fn plain(bytes: &[u8]) -> Option<Self> {
        let magic = number(bytes, 0, 4)?;
        if ![MAGIC_V1, MAGIC_V3].map(u64::from).contains(&magic) {
            return None;
        }
        Some(Self { bytes: number(bytes, 24, 4)?, count: number(bytes, 28, 2)?, is_composite: false })
    }
}

/// The number of `length` bytes at this offset, in the machine's byte order.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let found = bytes.get(at..at.checked_add(length)?)?;
    let digit = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    Some(if cfg!(target_endian = "big") {
        found.iter().fold(0, digit)
    } else {
        found.iter().rev().fold(0, digit)
    })
}

/// Creates a file that must not exist, not even as a link, with this mode less the bits of the umask and, if
/// Lustre accepts it, this layout.
///
/// # Errors
/// Those of `open`. After an error there is no new file.
pub(super) fn create_new(path: &Path, mode: Mode, layout: Layout) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW;
    let delayed = OFlags::from_bits_retain(DELAY_CREATE);
    let file = descriptors::open(path, flags | OFlags::CREATE | OFlags::EXCL | delayed, mode)?;
    let patterns = if layout.may_overstripe { &[PATTERN_OVERSTRIPED, 0][..] } else { &[0] };
    if patterns.iter().any(|pattern| set_layout(&file, layout, PATTERN_RAID0 | pattern).is_ok()) {
        return Ok(file);
    }
    // When it is opened again, the file gets the layout of its folder.
    drop(file);
    descriptors::open(path, flags, Mode::empty())
}

#[allow(clippy::cast_possible_truncation)] // `choose` keeps to what the fields hold
fn set_layout(file: &OwnedFd, layout: Layout, pattern: u32) -> Result<()> {
    let mut bytes = [0; PLAIN_BYTES];
    bytes[..4].copy_from_slice(&MAGIC_V1.to_ne_bytes());
    bytes[4..8].copy_from_slice(&pattern.to_ne_bytes());
    bytes[24..28].copy_from_slice(&(layout.bytes as u32).to_ne_bytes());
    bytes[28..30].copy_from_slice(&(layout.count as u16).to_ne_bytes());
    bytes[30..].copy_from_slice(&u16::MAX.to_ne_bytes()); // any server comes first
    // SAFETY: Lustre reads a layout of this kind, which has `PLAIN_BYTES`, at the address that it gets, and
    // writes nothing there.
    let request = unsafe { Setter::<SET_STRIPE, _>::new(bytes) };
    // SAFETY: as above.
    unsafe { ioctl(file, request) }
}

/// `None` for an unknown kind of layout.
fn layout_of(file: impl AsFd) -> Result<Option<StoredLayout>> {
    let mut bytes = Box::new([0; MOST_BYTES]);
    bytes[..4].copy_from_slice(&MAGIC_V3.to_ne_bytes()); // also those of pools
    // SAFETY: Lustre writes at most the bytes of a layout at the address that it gets, and no layout has more than `MOST_BYTES`.
    let request = unsafe { Updater::<GET_STRIPE, _>::new(&mut *bytes) };
    // SAFETY: as above.
    unsafe { ioctl(file, request) }?;
    Ok(StoredLayout::of_bytes(&*bytes))
}

/// The stripe size of an open file; `None` on other file systems, or if it is unknown.
pub(super) fn stripe_bytes(file: &OwnedFd) -> Option<u64> {
    let found = if FileSystem::is_lustre(file) { layout_of(file).ok().flatten() } else { None };
    found.map(|found| found.bytes).filter(|bytes| *bytes > 0)
}

/// Takes the group lock, with which ranks that write different bytes do not wait for each other's locks.
/// Everybody else who accesses the file waits until it is released, at the latest when the file is closed.
/// Returns `false` if it is refused.
pub(super) fn lock_group(file: &OwnedFd) -> bool {
    for_group::<GROUP_LOCK>(file).is_ok()
}

/// Releases the group lock.
pub(super) fn unlock_group(file: &OwnedFd) {
    let _ = for_group::<GROUP_UNLOCK>(file);
}

fn for_group<const REQUEST: Opcode>(file: &OwnedFd) -> Result<()> {
    // The call waits for the lock, and a signal may interrupt it.
    retry(|| {
        // SAFETY: these requests take a number, and no address.
        let request = unsafe { IntegerSetter::<REQUEST>::new_usize(GROUP) };
        // SAFETY: as above.
        unsafe { ioctl(file, request) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_numbers_of_lustre() {
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            let requests = [SET_STRIPE, GET_STRIPE, GROUP_LOCK, GROUP_UNLOCK];
            assert_eq!(requests.map(u64::from), [0x4008_669A, 0x4008_669B, 0x4008_669E, 0x4008_669F]);
        }
        assert_eq!(DELAY_CREATE, 0x0100_2100);
    }

    #[test]
    fn several_nodes_get_two_stripes_each_unless_somebody_chose() {
        let layout = |count, bytes, may_overstripe| Some(Layout { count, bytes, may_overstripe });
        let wanted = |count, bytes| LayoutRequest { count, bytes };
        for (nodes, wanted, is_chosen, expected) in [
            (1, wanted(0, 0), false, None),
            (8, wanted(0, 0), true, None),
            (8, wanted(0, 0), false, layout(16, 4 << 20, false)),
            (9000, wanted(0, 1 << 20), false, layout(2000, 1 << 20, false)),
            (8, wanted(0, 1000), false, layout(16, 4 << 20, false)), // no stripe of Lustre
            (1, wanted(3, 0), true, layout(3, 4 << 20, true)),
            (8, wanted(16, 1 << 32), true, layout(16, 4 << 20, true)),
        ] {
            assert_eq!(choose(nodes, wanted, || is_chosen), expected, "{nodes} nodes, {wanted:?}");
        }
    }

    fn plain(magic: u32, bytes: u32, count: u16) -> Vec<u8> {
        let mut all = vec![0; PLAIN_BYTES];
        all[..4].copy_from_slice(&magic.to_ne_bytes());
        all[24..28].copy_from_slice(&bytes.to_ne_bytes());
        all[28..30].copy_from_slice(&count.to_ne_bytes());
        all
    }

    #[test]
    fn layouts_are_parsed_and_no_other_bytes() {
        let found = |bytes, count, is_composite| Some(StoredLayout { bytes, count, is_composite });
        for magic in [MAGIC_V1, MAGIC_V3] {
            assert_eq!(StoredLayout::of_bytes(&plain(magic, 1 << 20, 4)), found(1 << 20, 4, false));
        }
        let mut composite = plain(MAGIC_COMPOSITE, 0, 0);
        composite[14..16].copy_from_slice(&2u16.to_ne_bytes());
        composite.resize(COMPOSITE_BYTES + 2 * ENTRY_BYTES, 0);
        let at = u32::try_from(composite.len()).unwrap();
        composite[COMPOSITE_BYTES + ENTRY_BYTES + 24..][..4].copy_from_slice(&at.to_ne_bytes());
        composite.extend(plain(MAGIC_V1, 8 << 20, 16));
        assert_eq!(StoredLayout::of_bytes(&composite), found(8 << 20, 16, true));
        for length in 0..composite.len() - 2 {
            assert_eq!(StoredLayout::of_bytes(&composite[..length]), None, "{length} bytes");
        }
        composite[14..16].fill(0);
        assert_eq!(StoredLayout::of_bytes(&composite), None);
        assert_eq!(StoredLayout::of_bytes(&plain(0x0BD5_0BD0, 1 << 20, 4)), None);
    }

    #[test]
    fn other_file_systems_are_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        assert_eq!(layout_for(&path, 8, LayoutRequest { count: 4, bytes: 0 }), None);
        let layout = Layout { count: 4, bytes: 1 << 20, may_overstripe: true };
        let file = create_new(&path, Mode::from_raw_mode(0o600), layout).unwrap();
        assert_eq!((stripe_bytes(&file), lock_group(&file)), (None, false));
        assert_eq!(uppermost(Path::new("/proc/self/")), Some(PathBuf::from("/proc")));
    }
}
