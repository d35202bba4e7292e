//! How the tests open files.

use scda::{ReadOptions, Tuning, WriteOptions};

/// The options of a call that opens a file.
pub trait Options: Default {
    fn tuning(&mut self) -> &mut Tuning;
}

impl Options for WriteOptions {
    fn tuning(&mut self) -> &mut Tuning {
        &mut self.tuning
    }
}

impl Options for ReadOptions {
    fn tuning(&mut self) -> &mut Tuning {
        &mut self.tuning
    }
}

/// The defaults, but for the sizes of steps, so that few data take every way that many do, and with arguments compared in every call.
pub fn options<T: Options>() -> T {
    let mut options = T::default();
    let tuning = options.tuning();
    let limits = &mut tuning.limits;
    (limits.gathered_bytes, limits.turn_bytes) = (1 << 10, 1 << 10);
    (limits.exchange_bytes, limits.balanced_bytes) = (8 << 10, 2 << 10);
    (limits.together_bytes, limits.encoded_bytes) = (300 << 10, 1 << 10);
    limits.streamed_bytes = 20 << 10;
    (limits.shared_bytes, limits.saved_bytes) = (1, 1);
    (limits.round_bytes, limits.round_chunks) = (50_000, 64);
    tuning.check = true;
    options
}

/// As [`options`], with other choices of speed and memory.
#[allow(dead_code)] // each test uses its part
pub fn tuned<T: Options>(tuning: &Tuning) -> T {
    let mut options = T::default();
    *options.tuning() = tuning.clone();
    options
}
