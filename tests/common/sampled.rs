//! Long sweeps, of which most runs try a sample.

/// Of what is tried in turn, each how many is: all of them with `SCDA_EACH`, as `scripts/long.sh` wants.
pub fn one_of(many: usize) -> usize {
    if std::env::var_os("SCDA_EACH").is_some() { 1 } else { many }
}
