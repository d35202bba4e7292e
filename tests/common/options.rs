//! How the tests open files.

use scda::Params;

/// The library's sizes of steps in small, so that few data take every way that many do, and arguments compared in every call.
pub fn options() -> Params {
    let mut params = Params::default();
    let limits = &mut params.limits;
    (limits.gathered_bytes, limits.turn_bytes) = (1 << 10, 1 << 10);
    (limits.exchange_bytes, limits.balanced_bytes) = (8 << 10, 2 << 10);
    (limits.together_bytes, limits.encoded_bytes) = (300 << 10, 1 << 10);
    limits.streamed_bytes = 20 << 10;
    (limits.shared_bytes, limits.saved_bytes) = (1, 1);
    (limits.round_bytes, limits.round_chunks) = (50_000, 64);
    params.check = true;
    params
}
