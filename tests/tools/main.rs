//! The command `scda` as users run it.

mod arguments;
mod damage;
mod documents;
mod large;
mod run;
mod written;
