//! Identifies the machine that this process runs on.

use super::hash::mix_all;
use std::sync::OnceLock;

/// A number that identifies the machine, from one start of the kernel to the next. Processes with the same
/// number access files through the same caches, even from different containers.
pub fn machine() -> u64 {
    #[cfg(any(test, feature = "doubles"))]
    if let Some(machine) = pretended::MACHINE.get() {
        return machine;
    }
    static FOUND: OnceLock<u64> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id");
        // On systems other than Linux, the name of the host.
        let bytes = boot.unwrap_or_else(|_| rustix::system::uname().nodename().to_bytes().to_vec());
        bytes.iter().fold(0, |hash, &byte| mix_all(hash, &[u64::from(byte) + 1]))
    })
}

/// For tests: threads that act as separate machines.
#[cfg(any(test, feature = "doubles"))]
pub mod pretended {
    use std::cell::Cell;

    thread_local! {
        /// The machine number of the rank on this thread.
        pub static MACHINE: Cell<Option<u64>> = const { Cell::new(None) };
    }
}

#[cfg(test)]
mod tests {
    use super::pretended::MACHINE;
    use super::*;

    #[test]
    fn a_machine_has_one_number() {
        let here = machine();
        assert_eq!(std::thread::spawn(machine).join().unwrap(), here);
        MACHINE.set(Some(here ^ 1));
        assert_eq!(machine(), here ^ 1);
    }
}
