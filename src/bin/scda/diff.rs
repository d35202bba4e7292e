//! `scda diff`: where two files differ.

use crate::datasets::compare::{Tolerance, first_unlike};
use crate::datasets::slabs::{self, Slabs};
use crate::datasets::{Found, Item, Pair, Walk, attributes_of, shape_word, values};
use crate::fail::{Fail, NO, Result, TROUBLE};
use crate::files::{Input, Threads};
use crate::ls::kind;
use crate::manifest::{dataset_facts, facts, group_facts, put_bytes};
use crate::numbers::to_usize;
use crate::output::{Output, quote, visible};
use crate::pieces::{Pieces, units};
use crate::progress::Progress;
use scda::internals::{fill, json::compact};
use scda::{Dataset, Reader, Region, Section, SectionType};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Compare the sections and data of two files
///
/// Compares section by section, in order, decompressed: compression, line breaks, and the program that wrote the file are
/// no differences. Reports the first difference of each section. With --quiet, nothing behind the first difference is
/// read.
///
/// Of datasets, compares type, shape, names of dimensions, fill value, attributes, and the values; how they are stored,
/// in chunks or not, is no difference. Without --rtol and --atol, values are the same if their bytes are.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 no difference; 1 a difference; 2 a file could not be read, or is not valid.

Examples:
  scda diff old.scda new.scda
  scda diff --quiet old.scda new.scda && echo the same
  scda diff --raw old.scda new.scda           the compressed bytes, too
  scda diff --rtol 1e-12 old.scda new.scda    numbers of datasets that are nearly the same are no difference")]
pub struct Args {
    /// A file; - is standard input
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Another one
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Compare compressed sections and datasets as the two sections that the files have
    #[arg(long)]
    raw: bool,
    /// Numbers a and b of datasets are the same if |a - b| <= ATOL + RTOL |b|; then NaN is the same as NaN
    #[arg(long, value_name = "RTOL", allow_hyphen_values = true, value_parser = parse_tolerance, conflicts_with = "raw")]
    rtol: Option<f64>,
    /// See --rtol; without one of them, it is 0
    #[arg(long, value_name = "ATOL", allow_hyphen_values = true, value_parser = parse_tolerance, conflicts_with = "raw")]
    atol: Option<f64>,
    /// Print nothing, and stop at the first difference
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON, an object with a list of differences
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number: &f64| number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number that is not negative".to_owned())
}

/// One difference, in words and as an object.
struct Difference {
    text: String,
    json: Value,
}

fn in_words(section: &Section) -> String {
    let size = match section.section_type {
        SectionType::Inline => String::new(),
        SectionType::Block => format!(" of {} bytes", section.size),
        SectionType::Array => format!(" of {} elements of {} bytes", section.count, section.size),
        SectionType::Varray => format!(" of {} elements", section.count),
    };
    format!("{}{size}, {}", kind(section), quote(&section.user))
}

fn of_headers(number: u64, a: Option<&Section>, b: Option<&Section>) -> Difference {
    let text = |section: Option<&Section>| section.map_or("none".to_owned(), in_words);
    let json = |section: Option<&Section>| section.map(|section| Value::Object(facts(number, section)));
    Difference {
        text: format!("section {number}: {} | {}", text(a), text(b)),
        json: json!({ "section": number, "what": "header", "a": json(a), "b": json(b) }),
    }
}

/// A section, dataset or group in words.
fn item_in_words(item: &Item) -> String {
    match &item.pair {
        None => in_words(&item.section),
        Some(Pair::Group(found)) => format!("attributes of the group {}", quote(&found.block.user)),
        Some(Pair::Dataset(found)) => {
            let Dataset { name, data_type, shape, .. } = &found.dataset;
            format!("dataset {data_type} {}, {}", shape_word(shape), quote(name.as_bytes()))
        }
    }
}

fn item_facts(item: &Item) -> Value {
    Value::Object(match &item.pair {
        None => facts(item.number, &item.section),
        Some(Pair::Group(found)) => group_facts(item.last(), found),
        Some(Pair::Dataset(found)) => dataset_facts(item.last(), &found.dataset),
    })
}

/// Items of different kinds, or one without a counterpart.
fn of_items(number: u64, a: Option<&Item>, b: Option<&Item>) -> Difference {
    let text = |item: Option<&Item>| item.map_or("none".to_owned(), item_in_words);
    let json = |item: Option<&Item>| item.map(item_facts);
    Difference {
        text: format!("section {number}: {} | {}", text(a), text(b)),
        json: json!({ "section": number, "what": "header", "a": json(a), "b": json(b) }),
    }
}

/// The first attribute that differs; their order is no difference.
fn of_attributes(number: u64, name: &str, a: &str, b: &str) -> Option<Difference> {
    let sorted = |text| -> BTreeMap<String, String> {
        attributes_of(text).into_iter().map(|member| (member.key, compact(member.text))).collect()
    };
    let (a, b) = (sorted(a), sorted(b));
    let key = a.iter().chain(&b).map(|(key, _)| key).find(|&key| a.get(key) != b.get(key))?;
    let show = |value: Option<&String>| value.map_or("none".to_owned(), |value| visible(value));
    let (x, y) = (a.get(key), b.get(key));
    Some(Difference {
        text: format!("{name}: attribute {}: {} | {}", visible(key), show(x), show(y)),
        json: json!({ "section": number, "what": "attribute", "attribute": key, "a": x, "b": y }),
    })
}

/// Differences of two datasets of one name, but for their data.
fn of_metadata(number: u64, a: &Dataset, b: &Dataset) -> Vec<Difference> {
    let name = format!("section {number} (dataset {})", quote(a.name.as_bytes()));
    let facts = |dataset: &Dataset| {
        let fill = match dataset.fill_value.is_empty() {
            true => vec![0; to_usize(dataset.data_type.item_bytes())],
            false => dataset.fill_value.clone(),
        };
        [
            ("type", dataset.data_type.to_string()),
            ("shape", shape_word(&dataset.shape)),
            ("dimension_names", json!(dataset.dimension_names).to_string()),
            ("fill_value", fill::to_json(dataset.data_type, &fill).to_string()),
        ]
    };
    let mut differences: Vec<_> = facts(a)
        .into_iter()
        .zip(facts(b))
        .filter(|(x, y)| x != y)
        .map(|((what, x), (_, y))| Difference {
            text: format!("{name}: {}: {} | {}", what.replace('_', " "), visible(&x), visible(&y)),
            json: json!({ "section": number, "what": what, "a": x, "b": y }),
        })
        .collect();
    differences.extend(of_attributes(number, &name, &a.attributes, &b.attributes));
    differences
}

/// Compares the values of two datasets of one type and shape. All are read, unless `quiet`.
fn of_values(
    number: u64,
    (a, b): (&Dataset, &Dataset),
    (in_a, in_b): (&mut Reader, &mut Reader),
    args: &Args,
    progress: &mut Progress,
) -> Result<Option<Difference>> {
    let tolerance = (args.rtol.is_some() || args.atol.is_some())
        .then(|| Tolerance { relative: args.rtol.unwrap_or(0.0), absolute: args.atol.unwrap_or(0.0) });
    let item = to_usize(a.data_type.item_bytes());
    let (mut x, mut y, mut found) = (Vec::new(), Vec::new(), None);
    for slab in Slabs::new(a, Region::all(&a.shape)) {
        slabs::read(in_a, a, &slab, &mut x)?;
        slabs::read(in_b, b, &slab, &mut y)?;
        progress.add(x.len() as u64);
        if found.is_some() {
            continue;
        }
        let Some(place) = first_unlike(a.data_type, &x, &y, tolerance) else { continue };
        let show = |data: &[u8]| {
            let mut text = String::new();
            values::show(a.data_type, &data[place * item..][..item], &mut text);
            text
        };
        let (x, y, index) = (show(&x), show(&y), slabs::index_of(&slab, place as u64));
        let name = quote(a.name.as_bytes());
        found = Some(Difference {
            text: format!("section {number} (dataset {name}): {index:?}: {x} | {y}"),
            json: json!({ "section": number, "what": "data", "index": index, "a": x, "b": y }),
        });
        if args.quiet {
            break;
        }
    }
    Ok(found)
}

/// Compares the data of the sections, whose headers are the same.
fn of_data(
    number: u64,
    section: &Section,
    other: &Section,
    a: &mut Reader,
    b: &mut Reader,
    progress: &mut Progress,
) -> Result<Option<Difference>> {
    let (mut in_a, mut in_b) = (Pieces::all(section), Pieces::all(other));
    if section.section_type == SectionType::Varray
        && let Some(difference) = of_sizes(number, section, a, b)?
    {
        return Ok(Some(difference));
    }
    // Pieces of compressed and of plain data may have other lengths.
    let (mut at, mut used_a, mut used_b) = (0, 0, 0);
    loop {
        if used_a == in_a.data().len() && in_a.next(a)? {
            used_a = 0;
            progress.add(in_a.data().len() as u64);
        }
        if used_b == in_b.data().len() && in_b.next(b)? {
            used_b = 0;
        }
        let (rest_a, rest_b) = (&in_a.data()[used_a..], &in_b.data()[used_b..]);
        let length = rest_a.len().min(rest_b.len());
        if length == 0 {
            if in_a.is_done() && in_b.is_done() {
                return Ok(None);
            }
            continue;
        }
        if rest_a[..length] == rest_b[..length] {
            used_a += length;
            used_b += length;
            at += length as u64;
            continue;
        }
        let place = rest_a.iter().zip(rest_b).position(|(a, b)| a != b).unwrap_or(0);
        let byte = at + place as u64;
        let (byte, element) = match section.section_type {
            SectionType::Inline | SectionType::Block => (byte, None),
            SectionType::Array => (byte % section.size, Some(byte / section.size)),
            SectionType::Varray => {
                // The sizes are the same, and so are the pieces.
                let (element, byte) = in_a.varray_element(used_a + place);
                (byte, Some(element))
            }
        };
        let (x, y) = (rest_a[place], rest_b[place]);
        let name = quote(&section.user);
        let element_words = element.map(|element| format!("element {element}, ")).unwrap_or_default();
        return Ok(Some(Difference {
            text: format!(
                "section {number} ({} {name}): {element_words}byte {byte}: 0x{x:02x} | 0x{y:02x}",
                kind(section)
            ),
            json: json!({ "section": number, "what": "data", "element": element, "byte": byte, "a": x, "b": y }),
        }));
    }
}

fn of_sizes(number: u64, section: &Section, a: &mut Reader, b: &mut Reader) -> Result<Option<Difference>> {
    let (mut sizes_a, mut sizes_b) = (vec![0; 1 << 14], vec![0; 1 << 14]);
    let mut done = 0;
    while done < section.count {
        let step = (section.count - done).min(sizes_a.len() as u64);
        sizes_a.truncate(to_usize(step));
        sizes_b.truncate(sizes_a.len());
        a.read_varray_sizes_range(done..done + step, &mut sizes_a)?;
        b.read_varray_sizes_range(done..done + step, &mut sizes_b)?;
        if let Some(index) = sizes_a.iter().zip(&sizes_b).position(|(a, b)| a != b) {
            let (element, x, y) = (done + index as u64, sizes_a[index], sizes_b[index]);
            let name = quote(&section.user);
            return Ok(Some(Difference {
                text: format!("section {number} (varray {name}): element {element}: {x} bytes | {y} bytes"),
                json: json!({ "section": number, "what": "size", "element": element, "a": x, "b": y }),
            }));
        }
        done += step;
    }
    Ok(None)
}

/// Ends the current section. One that differs is read, too: data that are damaged are no difference but trouble.
fn end(reader: &mut Reader, section: &Section, args: &Args, is_unlike: bool) -> Result<()> {
    if is_unlike && !args.quiet {
        reader.seek(section.offset)?;
        reader.next_section(!args.raw)?;
        let mut pieces = Pieces::all(section);
        while pieces.next(reader)? {}
    }
    Ok(reader.skip()?)
}

fn compare(
    args: &Args,
    a: &Input,
    b: &Input,
    mut each: impl FnMut(Difference) -> Result<bool>,
) -> Result<()> {
    let (mut in_a, mut in_b) = (a.open()?, b.open()?);
    let mut progress = Progress::new("diff", in_a.file_size().unwrap_or(0));
    if in_a.user() != in_b.user() {
        let (mut x, mut y) = (Map::new(), Map::new());
        put_bytes(&mut x, "user", in_a.user());
        put_bytes(&mut y, "user", in_b.user());
        let text = format!("user string of the file: {} | {}", quote(in_a.user()), quote(in_b.user()));
        if !each(Difference { text, json: json!({ "section": 0, "what": "user", "a": x, "b": y }) })? {
            return Ok(());
        }
    }
    let mut walks = (Walk::new(a, args.raw), Walk::new(b, args.raw));
    loop {
        let items = (walks.0.next(&mut in_a)?, walks.1.next(&mut in_b)?);
        let differences = match &items {
            (None, None) => return Ok(()),
            (Some(x), Some(y)) => {
                let mut both =
                    Both { a: &mut in_a, b: &mut in_b, walks: &mut walks, args, progress: &mut progress };
                both.items(x, y)?
            }
            (x, y) => {
                let number = x.as_ref().or(y.as_ref()).map_or(0, |item| item.number);
                for (reader, item) in [(&mut in_a, x), (&mut in_b, y)] {
                    item.iter().try_for_each(|item| end_item(reader, item, args, true))?;
                }
                vec![of_items(number, x.as_ref(), y.as_ref())]
            }
        };
        progress.set(in_a.position().unwrap_or(0));
        for difference in differences {
            if !each(difference)? {
                return Ok(());
            }
        }
    }
}

/// Ends a section, or both of a pair, as [`end`].
fn end_item(reader: &mut Reader, item: &Item, args: &Args, is_unlike: bool) -> Result<()> {
    end(reader, &item.section, args, is_unlike)?;
    if item.pair.is_some()
        && let Some(section) = reader.next_section(true)?
    {
        end(reader, &section, args, is_unlike)?;
    }
    Ok(())
}

/// Two files that are compared.
struct Both<'a, 'b> {
    a: &'a mut Reader,
    b: &'a mut Reader,
    walks: &'a mut (Walk<'b>, Walk<'b>),
    args: &'a Args,
    progress: &'a mut Progress,
}

impl Both<'_, '_> {
    /// Compares sections, datasets or groups, and goes behind them.
    fn items(&mut self, x: &Item, y: &Item) -> Result<Vec<Difference>> {
        if let (Some(found), Some(other)) = (x.readable(), y.readable())
            && found.dataset.name == other.dataset.name
        {
            let differences = self.datasets(x.last(), found, other)?;
            x.skip(self.a)?;
            y.skip(self.b)?;
            return Ok(differences);
        }
        if let (Some(Pair::Group(found)), Some(Pair::Group(other))) = (&x.pair, &y.pair)
            && found.group.path == other.group.path
        {
            x.skip(self.a)?;
            y.skip(self.b)?;
            let name = format!("section {} (group {})", x.last(), quote(&found.block.user));
            let (a, b) = (&found.group.attributes, &other.group.attributes);
            return Ok(of_attributes(x.last(), &name, a, b).into_iter().collect());
        }
        // What cannot be read as data of a dataset is compared as the sections that it is.
        if x.pair.is_some() != y.pair.is_some() || x.readable().is_some() || y.readable().is_some() {
            end_item(self.a, x, self.args, true)?;
            end_item(self.b, y, self.args, true)?;
            return Ok(vec![of_items(x.last(), Some(x), Some(y))]);
        }
        let mut differences = Vec::new();
        differences.extend(self.sections(x.number, &x.section, &y.section)?);
        if x.pair.is_some()
            && let (Some(section), Some(other)) = (self.a.next_section(true)?, self.b.next_section(true)?)
        {
            differences.extend(self.sections(x.last(), &section, &other)?);
        }
        Ok(differences)
    }

    fn sections(&mut self, number: u64, x: &Section, y: &Section) -> Result<Option<Difference>> {
        let is_same = x.section_type == y.section_type
            && x.user == y.user
            && (x.count, x.size) == (y.count, y.size)
            && units(x) == units(y);
        let difference = match is_same {
            true => of_data(number, x, y, self.a, self.b, self.progress)?,
            false => Some(of_headers(number, Some(x), Some(y))),
        };
        end(self.a, x, self.args, difference.is_some())?;
        end(self.b, y, self.args, difference.is_some())?;
        Ok(difference)
    }

    /// All differences of the metadata, and the first value that differs.
    fn datasets(&mut self, number: u64, found: &Found, other: &Found) -> Result<Vec<Difference>> {
        let (a, b) = (&found.dataset, &other.dataset);
        let mut differences = of_metadata(number, a, b);
        let (walk_a, walk_b) = &mut *self.walks;
        let readers = (walk_a.dataset_reader()?, walk_b.dataset_reader()?);
        if (a.data_type, &a.shape) == (b.data_type, &b.shape) {
            if differences.is_empty() || !self.args.quiet {
                differences.extend(of_values(number, (a, b), readers, self.args, self.progress)?);
            }
        } else if !self.args.quiet {
            read_all(readers.0, a)?;
            read_all(readers.1, b)?;
        }
        Ok(differences)
    }
}

/// Reads a dataset: data that are damaged are no difference but trouble.
fn read_all(reader: &mut Reader, dataset: &Dataset) -> Result<()> {
    let mut data = Vec::new();
    Slabs::new(dataset, Region::all(&dataset.shape))
        .try_for_each(|slab| slabs::read(reader, dataset, &slab, &mut data))
}

pub fn run(args: &Args) -> Result<()> {
    let trouble = |fail: Fail| match fail {
        // A file that is not valid cannot be compared.
        Fail::Scda(error) => {
            Fail::Scda(error).report();
            Fail::Said(TROUBLE)
        }
        other => other,
    };
    let (a, b) = (Input::new(&args.a, &args.threads)?, Input::new(&args.b, &args.threads)?);
    let mut out = Output::new()?;
    let mut list = Vec::new();
    let mut found = false;
    let result = compare(args, &a, &b, |difference| {
        found = true;
        if args.json {
            list.push(difference.json);
        } else if !args.quiet {
            out.text(format_args!("{}\n", difference.text))?;
        }
        Ok(!args.quiet)
    });
    let written = match args.json && result.is_ok() {
        true => {
            let object = json!({ "a": a.name(), "b": b.name(), "same": !found, "differences": list });
            out.text(format_args!("{object}\n"))
        }
        false => Ok(()),
    };
    match result.and(written).and(out.finish()) {
        // The reader of the output has closed it, and so has the answer.
        Ok(()) | Err(Fail::Quiet) if found => Err(Fail::Said(NO)),
        other => other.map_err(trouble),
    }
}
