//! The command `scda` as users run it.

mod arguments;
mod damage;
mod datasets;
mod doctor;
mod documents;
mod forests;
mod imported;
mod large;
mod python;
mod run;
mod sealed;
mod streams;
mod verified;
mod written;
