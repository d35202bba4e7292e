//! Shows the datasets of a file in the tree of their groups.

use crate::datasets::{Walk, attribute_lines, chunk_word, remarks, shape_word};
use crate::fail::{Result, and_known};
use crate::files::Input;
use crate::output::{Output, visible};
use crate::rows::{Faults, as_f64, measure_item};
use scda::{Content, DatasetHandle, Layout, Reader};
use std::collections::{HashMap, HashSet};

/// A group or dataset.
#[derive(Default)]
struct Node {
    name: String,
    /// The description of the last dataset with this name, and the number of datasets.
    summary: Option<String>,
    records: u64,
    /// The shapes of all of them.
    shapes: HashSet<Vec<u64>>,
    /// The attributes of the group, and of the last dataset.
    group_attributes: Vec<String>,
    attributes: Vec<String>,
    inner: Vec<Node>,
    /// The index of each name in `inner`.
    places: HashMap<String, usize>,
}

impl Node {
    /// The node with this path below this one; made if it does not exist.
    fn at(&mut self, path: &str) -> &mut Self {
        let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                self.places.insert(name.to_owned(), self.inner.len());
                self.inner.push(Self { name: name.to_owned(), ..Self::default() });
                self.inner.len() - 1
            }
        };
        let node = &mut self.inner[place];
        match rest {
            Some(rest) => node.at(rest),
            None => node,
        }
    }

    fn show(&self, out: &mut Output, depth: usize) -> Result<()> {
        let indent = "  ".repeat(depth);
        let name = visible(&self.name);
        if let Some(summary) = &self.summary {
            let records = match (self.records, self.shapes.len()) {
                (1, _) => String::new(),
                (records, 1) => format!(", {records} records"),
                (records, shapes) => format!(", the last of {records} records of {shapes} shapes"),
            };
            out.text(format_args!("{indent}{}  {summary}{records}\n", out.colour(1, &name)))?;
            self.attributes.iter().try_for_each(|line| out.text(format_args!("{indent}    {line}\n")))?;
        }
        if self.inner.is_empty() && self.group_attributes.is_empty() {
            return Ok(());
        }
        out.text(format_args!("{indent}{}\n", out.colour(1, &format!("{name}/"))))?;
        self.group_attributes.iter().try_for_each(|line| out.text(format_args!("{indent}    {line}\n")))?;
        self.inner.iter().try_for_each(|node| node.show(out, depth + 1))
    }
}

/// Type, shape, chunks, ratio and units.
fn summary(dataset: &DatasetHandle, stored: u64) -> String {
    let mut words = shape_word(&dataset.shape);
    if dataset.layout != Layout::Contiguous {
        words = format!("{words} in chunks of {}", chunk_word(dataset));
    }
    let bytes = if dataset.data_type.is_variable() { 0 } else { dataset.data_bytes().unwrap_or(0) };
    if bytes > 0 && (dataset.layout != Layout::Contiguous || dataset.data_section().decoded) {
        let ratio = as_f64(bytes) / as_f64(stored);
        words = format!("{words}, {ratio:.2} : 1");
    }
    format!("{words}, {}", remarks(dataset))
}

/// Prints the tree, without other sections.
pub fn show(out: &mut Output, reader: &mut Reader, input: &Input) -> Result<()> {
    let (mut root, mut faults) = (Node::default(), Faults::default());
    let mut walk = Walk::new(input, false);
    while let Some(item) = walk.next(reader)? {
        faults.add(item.fault());
        match &item.content {
            Content::Dataset(dataset) => {
                let stored = measure_item(reader, &item)?.stored;
                let node = root.at(&dataset.name);
                node.summary = Some(summary(dataset, stored));
                node.records += 1;
                node.shapes.insert(dataset.shape.clone());
                node.attributes = attribute_lines(&dataset.attributes, Some(dataset.data_type));
                continue;
            }
            Content::Group(group) => {
                let node = if group.path == "/" { &mut root } else { root.at(&group.path) };
                node.group_attributes = attribute_lines(&group.attributes, None);
            }
            _ => {}
        }
        item.skip(reader)?;
    }
    and_known(root.show(out, 0), || faults.end())
}
