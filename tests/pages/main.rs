//! What the pages say: their links, the lines of examples, and that every language is in them; and what scripts say.

#[path = "../common/mod.rs"]
mod common;

mod codecs;
mod examples;
mod identify;
mod languages;
mod links;
mod scripts;
mod sources;
