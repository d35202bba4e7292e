//! `scda sum`: digests that depend on what is in a file, not on how it was written.

use crate::data_batches::{DataBatches, for_each_sizes};
use crate::datasets::box_parts;
use crate::datasets::ordered_items::{OrderedItems, Part};
use crate::datasets::tree::Tree;
use crate::datasets::{Found, FoundGroup, Item, Pair, Walk, added_to};
use crate::facts::{dataset_facts, facts, failure, group_facts, put_bytes};
use crate::fail::{Fail, Result};
use crate::files::{Input, Resources, temporary_file};
use crate::output::{Output, hex, quote, visible};
use crate::progress::Progress;
use scda::{Reader, Section, SectionType};
use scda_base::numbers::to_usize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// Print digests of the sections and of the file
///
/// Digests depend on the kinds, user strings, counts, sizes and data of the sections, and not on compression, line breaks, or
/// the program that wrote the file. Each is a SHA-256; every number in it is 8 bytes, the least significant first. The
/// digest of a section is that of: the letter of its kind; the length of the user string, and the user string; N and E, 0 if
/// there is none; for V all sizes; the data. A dataset (D) and the attributes of a group (G) have one digest, whatever the chunks and
/// their compression. The digest of the file is that of: the length of its user string, and the user
/// string; the number of sections; the digests of all sections.
///
/// The digest of a dataset is that of: D; the name; the type; the number of dimensions, and the shape; the bytes of the fill value; the names of
/// dimensions, and the attributes, as JSON without white space, empty if there are no names; the root of a tree of all items, the least
/// significant byte of each number first. That of the attributes of a group: G; the user string of the block; the attributes. The length of each text and of the fill
/// value stands before it. The tree is that of RFC 9162 (2.1.1), so that items that no chunk is stored for take no time; its leaves are as many items
/// as fit into 1 MiB, at least one; of items of variable length, each after its length in 4 bytes, 4096 items.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda sum state.scda
  scda sum --total *.scda                      one line for each file
  test \"$(scda sum --total < a.scda -)\" = \"$(scda sum --total < b.scda -)\"")]
pub struct Args {
    /// The files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print only the digest of the file
    #[arg(short, long)]
    total: bool,
    /// Print JSON, an object for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: Resources,
}

fn put_number(hash: &mut Sha256, number: u64) {
    hash.update(number.to_le_bytes());
}

fn put_user(hash: &mut Sha256, user: &[u8]) {
    put_number(hash, user.len() as u64);
    hash.update(user);
}

/// The digest of the reader's current section, which it ends.
fn digest(reader: &mut Reader, section: &Section, progress: &mut Progress) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    hash.update([section.section_type.letter()]);
    put_user(&mut hash, &section.user);
    put_number(&mut hash, section.count);
    put_number(&mut hash, section.size);
    if section.section_type == SectionType::Varray {
        let mut bytes = Vec::new();
        for_each_sizes(reader, section.count, |sizes| {
            bytes.clear();
            sizes.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
            hash.update(&bytes);
            Ok::<_, Fail>(())
        })?;
    }
    let mut pieces = DataBatches::all(section);
    while pieces.next(reader)? {
        hash.update(pieces.data());
        progress.add(pieces.data().len() as u64);
    }
    reader.skip()?;
    progress.set(reader.position().unwrap_or(0));
    Ok(hash.finalize().into())
}

/// The digest of a dataset, whose data the reader reads.
fn dataset_digest(reader: &mut Reader, found: &Found, progress: &mut Progress) -> Result<[u8; 32]> {
    let dataset = &found.dataset;
    let mut hash = Sha256::new();
    hash.update(b"D");
    put_user(&mut hash, dataset.name.as_bytes());
    put_user(&mut hash, dataset.data_type.to_string().as_bytes());
    put_number(&mut hash, dataset.shape.len() as u64);
    dataset.shape.iter().for_each(|&n| put_number(&mut hash, n));
    put_user(&mut hash, &dataset.fill_item());
    let names = &dataset.dimension_names;
    let names = if names.is_empty() { String::new() } else { json!(names).to_string() };
    put_user(&mut hash, names.as_bytes());
    put_user(&mut hash, dataset.attributes.as_bytes());
    let item_bytes = (!dataset.data_type.is_variable()).then(|| to_usize(dataset.data_type.item_bytes()));
    let (mut tree, fill) = (Tree::new(item_bytes), box_parts::fill_item(dataset));
    let (mut order, mut data) = (OrderedItems::new(found, temporary_file), Vec::new());
    while let Some(part) = order.next_part(reader, found, &mut data)? {
        match (part, item_bytes) {
            (Part::Fill(items), _) => tree.repeat(&fill, items),
            (Part::Items, Some(bytes)) => tree.put(&data, bytes),
            (Part::Items, None) => box_parts::each_item(dataset.data_type, &data).for_each(|item| {
                let length = (item.len() as u64).to_le_bytes();
                let whole = [&length[..4], item].concat();
                tree.put(&whole, whole.len());
            }),
        }
        progress.add(if part == Part::Items { data.len() as u64 } else { 0 });
    }
    hash.update(tree.finish());
    Ok(hash.finalize().into())
}

/// The digest of the attributes of a group.
fn group_digest(found: &FoundGroup) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"G");
    put_user(&mut hash, &found.block.user);
    put_user(&mut hash, found.group.attributes.as_bytes());
    hash.finalize().into()
}

/// An item and its digest.
type DigestedItem = (Map<String, Value>, [u8; 32]);

/// The digests of a section, dataset or group: the number and facts of each. It is passed over.
fn digests_of(reader: &mut Reader, item: &Item, progress: &mut Progress) -> Result<Vec<DigestedItem>> {
    if let Some(found) = item.readable() {
        let digest = dataset_digest(reader, found, progress)?;
        item.skip(reader)?;
        progress.set(reader.position().unwrap_or(0));
        return Ok(vec![(dataset_facts(item.last(), &found.dataset), digest)]);
    }
    if let Some(Pair::Group(found)) = &item.pair {
        item.skip(reader)?;
        return Ok(vec![(group_facts(item.last(), found), group_digest(found))]);
    }
    let mut digests = vec![(facts(item.number, &item.section), digest(reader, &item.section, progress)?)];
    // The data cannot be read as those of a dataset.
    if item.pair.is_some()
        && let Some(section) = reader.next_section(true)?
    {
        digests.push((facts(item.last(), &section), digest(reader, &section, progress)?));
    }
    if let Some(Pair::Dataset(found)) = &item.pair {
        let before = reader.position().unwrap_or(0);
        for offset in found.added.iter().flat_map(|rows| [rows.metadata, rows.data]) {
            reader.seek(offset)?;
            let Some(mut section) = reader.next_section(true)? else { break };
            if added_to(section.section_type, &section.user).is_some() {
                // Where the dataset is makes no difference.
                section.user = found.data.user;
            }
            digests.push((facts(item.last(), &section), digest(reader, &section, progress)?));
        }
        reader.seek(before)?;
    }
    Ok(digests)
}

/// The digests of a file, as they become known; what is before any damage is said.
fn digests(out: &mut Output, reader: &mut Reader, input: &Input, args: &Args) -> Result<[u8; 32]> {
    let mut progress =
        Progress::new(&format!("sum {}", input.name()), reader.inspect().file_size().unwrap_or(0));
    let mut file = Sha256::new();
    put_user(&mut file, &reader.header().user);
    // The digest of the file has their number before them.
    let mut digests: Vec<[u8; 32]> = Vec::new();
    let mut walk = Walk::new(input, false);
    while let Some(item) = walk.next(reader)? {
        for (mut object, digest) in digests_of(reader, &item, &mut progress)? {
            let comma = if digests.is_empty() { "" } else { "," };
            digests.push(digest);
            if args.total {
                continue;
            }
            if args.json {
                object.insert("sha256".into(), hex(&digest).into());
                out.text(format_args!("{comma}{}", Value::Object(object)))?;
                continue;
            }
            let (number, kind) = (&object["number"], object["type"].as_str().unwrap_or("?"));
            let number = number.as_u64().unwrap_or(0);
            let name = match &item.pair {
                Some(pair) if number == item.last() => &pair.second().user,
                _ => &item.section.user,
            };
            out.text(format_args!("{}  {number:5} {kind} {}\n", hex(&digest), quote(name)))?;
        }
    }
    put_number(&mut file, digests.len() as u64);
    digests.iter().for_each(|digest| file.update(digest));
    Ok(file.finalize().into())
}

fn sum(out: &mut Output, input: &Input, args: &Args) -> Result<()> {
    if !args.json {
        let mut reader = input.open_damaged(false)?;
        let total = digests(out, &mut reader, input, args)?;
        return out.text(format_args!("{}  {}\n", hex(&total), visible(input.name())));
    }
    let mut head = Map::new();
    head.insert("file".into(), input.name().into());
    let result = input.open_damaged(false).map_err(Fail::from).and_then(|mut reader| {
        put_bytes(&mut head, "user", &reader.header().user);
        let head = Value::Object(std::mem::take(&mut head)).to_string();
        out.text(format_args!("{}", head.trim_end_matches('}')))?;
        let (begin, end) = if args.total { ("", "") } else { (",\"sections\":[", "]") };
        out.bytes(begin.as_bytes())?;
        let result = digests(out, &mut reader, input, args);
        out.bytes(end.as_bytes())?;
        result
    });
    if !head.is_empty() {
        out.text(format_args!("{{\"file\":{}", head["file"]))?;
    }
    match &result {
        Ok(total) => out.text(format_args!(",\"sha256\":\"{}\"}}\n", hex(total)))?,
        Err(fail) => out.text(format_args!(",\"error\":{}}}\n", failure(fail)))?,
    }
    result.map(drop)
}

pub fn run(args: &Args) -> Result<()> {
    let mut out = Output::of_json(args.json)?;
    let mut code = 0;
    for path in &args.files {
        let result = Input::new(path, &args.resources).and_then(|input| sum(&mut out, &input, args));
        out.end_file(result, &mut code)?;
    }
    if code == 0 { Ok(()) } else { Err(Fail::Said(code)) }
}
