//! What the pages say: their links, and that every language is in them.

mod languages;
mod links;
