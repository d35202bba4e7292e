//! Prints the values of datasets, line by line or as a table.

use super::{Args, check_columns, check_terminal};
use crate::datasets::box_parts::{self, BoxParts, each_item};
use crate::datasets::{attributes_of, dataset_at, to_little, values};
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::formats::DataFormat;
use crate::output::{Output, visible};
use crate::plot::cf_decoding;
use crate::plot::clock::Clock;
use crate::ranges::Bounds;
use scda::{Dataset, DatasetHandle, IndexBox, Kind, Reader, Section};
use scda_base::numbers::to_usize;
use serde_json::Value;

/// Prints items of a dataset.
struct Values<'a> {
    out: &'a mut Output,
    dataset: &'a DatasetHandle,
    as_bytes: bool,
    columns: usize,
    /// As a table with commas: what each line begins with.
    table: Option<String>,
    /// Numbers that are shown as the dates that they stand for.
    clock: Option<Clock>,
    in_line: usize,
    text: String,
}

impl Values<'_> {
    fn print(&mut self, data: &mut [u8]) -> Result<()> {
        let data_type = self.dataset.data_type;
        if self.as_bytes {
            if data_type.is_variable() {
                return each_item(data_type, data).try_for_each(|item| self.out.bytes(item));
            }
            to_little(data_type, data);
            return self.out.bytes(data);
        }
        for item in each_item(data_type, data) {
            match (&self.table, self.in_line) {
                (Some(begin), 0) => self.text.push_str(begin),
                (None, 0) => {}
                (Some(_), _) => self.text.push(','),
                (None, _) => self.text.push(' '),
            }
            let date = self.clock.and_then(|clock| clock.exact_moment(values::number(data_type, item)));
            match (date, &self.table) {
                (Some(date), _) => self.text.push_str(&date),
                (None, Some(_)) => self.cell(item),
                (None, None) => values::show(data_type, item, &mut self.text),
            }
            self.in_line += 1;
            if self.in_line == self.columns {
                self.end_line();
            }
            if self.text.len() > 1 << 14 {
                self.write()?;
            }
        }
        self.write()
    }

    /// Appends an item to a table.
    fn cell(&mut self, item: &[u8]) {
        let data_type = self.dataset.data_type;
        let characters = values::characters(data_type, item);
        let from = self.text.len();
        if characters.is_none() {
            values::show(data_type, item, &mut self.text);
        }
        match data_type.kind() {
            Kind::Text | Kind::Variable | Kind::Struct => {
                let text = characters.unwrap_or_else(|| self.text.split_off(from));
                self.text.push_str(&cell(&text, self.out.is_terminal()));
            }
            Kind::Complex => {
                // The parts are columns of their own.
                self.text.remove(from);
                self.text.pop();
            }
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.text.push_str(if self.in_line == 0 { "" } else { "\n" });
        self.in_line = 0;
    }

    fn write(&mut self) -> Result<()> {
        self.out.bytes(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    /// Prints a box up to the first item that cannot be read.
    fn print_readable(&mut self, reader: &mut Reader, region: &IndexBox, data: &mut Vec<u8>) -> Result<()> {
        let Err(fail) = box_parts::read(reader, self.dataset, region, data) else { return self.print(data) };
        let Some((first, second)) = box_parts::halves(region) else { return Err(fail) };
        self.print_readable(reader, &first, data)?;
        self.print_readable(reader, &second, data)
    }
}

/// What the columns of a table are.
#[derive(PartialEq)]
struct Head {
    dataset: String,
    is_complex: bool,
    /// If it names them.
    names: Vec<String>,
    /// Which ones of the dataset.
    columns: IndexBox,
}

/// Prints datasets, one after the other.
#[derive(Default)]
pub struct Series {
    /// Whether there may be several.
    pub are_several: bool,
    /// Of a table: its columns.
    head: Option<Head>,
    has_printed: bool,
    /// The bytes of all items so far.
    bytes: u64,
}

/// The bytes of items that are printed of any file, and the multiple of its bytes that is printed of a larger one; with --box, any
/// number.
const MOST_BYTES: u64 = 16 << 20;
const MOST_TIMES: u64 = 1000;

impl Series {
    /// Prints a dataset, with this block of metadata.
    pub fn print(
        &mut self,
        out: &mut Output,
        (reader, input): (&mut Reader, &Input),
        args: &Args,
        (block, record): (&Section, u64),
    ) -> Result<()> {
        let as_bytes = match args.format {
            None | Some(DataFormat::Csv) => false,
            Some(DataFormat::Bytes) => true,
            Some(_) => {
                let words =
                    "a dataset is shown by its type: use --as bytes or csv, or --raw to show the section";
                return Err(Fail::file(input.name(), words));
            }
        };
        let Some(dataset) = dataset_at(reader, block.offset)? else { return Ok(()) };
        if args.range.is_some() {
            let name = visible(&dataset.name);
            let words = "--range is for sections: use --box, or --raw to show the section";
            return Err(Fail::file(input.name(), format_args!("dataset \"{name}\": {words}")));
        }
        if args.region.is_none() {
            self.check_size(&dataset, input, reader.inspect().file_size().unwrap_or(0))?;
        }
        let region = Bounds::region(args.region.as_ref(), input, &dataset)?;
        let is_table = args.format == Some(DataFormat::Csv);
        check_columns(args, as_bytes || is_table)?;
        check_terminal(out, as_bytes, dataset.name.as_bytes(), "without --as the values are shown")?;
        if is_table {
            self.head(out, input, &dataset, &region)?;
        } else if self.has_printed && !as_bytes && !dataset.shape.is_empty() {
            out.bytes(b"\n")?;
        }
        self.has_printed = true;
        let row = if region.count.len() > 1 { region.count.last().map_or(1, |&n| to_usize(n)) } else { 1 };
        let columns = args.cols.map_or(row, usize::from);
        let begin = || if self.are_several { format!("{record},") } else { String::new() };
        let table = is_table.then(begin);
        let (in_line, text) = (0, String::new());
        let clock = if args.numbers { None } else { clock_of(&dataset) };
        let mut values = Values { out, dataset: &dataset, as_bytes, columns, table, clock, in_line, text };
        let mut data = Vec::new();
        let mut result = Ok(());
        for slab in BoxParts::new(&dataset, region) {
            result =
                box_parts::read(reader, &dataset, &slab, &mut data).and_then(|()| values.print(&mut data));
            if let Err(Fail::Scda(_)) = result {
                result = values.print_readable(reader, &slab, &mut data);
            }
            if result.is_err() {
                break;
            }
        }
        values.end_line();
        values.write()?;
        result
    }

    /// Trouble if the items have far more bytes than the file: chunks of the fill value take none in it, so that a file of 2 KB may
    /// have items enough to print for a day.
    fn check_size(&mut self, dataset: &Dataset, input: &Input, file_bytes: u64) -> Result<()> {
        let data_type = dataset.data_type;
        let text_bytes = if data_type.is_variable() { dataset.fill_value.len() as u64 } else { 0 };
        let item_bytes = data_type.item_bytes() + text_bytes;
        let all = dataset.shape.iter().fold(item_bytes, |bytes, &n| bytes.saturating_mul(n));
        self.bytes = self.bytes.saturating_add(all);
        if self.bytes <= file_bytes.saturating_mul(MOST_TIMES).max(MOST_BYTES) {
            return Ok(());
        }
        let region = |part: &str| vec![part; dataset.shape.len()].join(",");
        let words = format_args!(
            "dataset \"{}\": the items have {all} bytes, in a file of {file_bytes}: nearly all must be alike; \
             --box {} prints the first ones, --box : all",
            visible(&dataset.name),
            region("0:10"),
        );
        Err(Fail::file(input.name(), words))
    }

    /// Prints the line of names of a table. Trouble if the next dataset has other ones.
    fn head(&mut self, out: &mut Output, input: &Input, dataset: &Dataset, region: &IndexBox) -> Result<()> {
        let trouble = |words: String| {
            let name = visible(&dataset.name);
            Err(Fail::file(input.name(), format_args!("dataset \"{name}\": --as csv: {words}")))
        };
        let cell = |name: &str| cell(name, out.is_terminal());
        if dataset.shape.len() > 2 {
            let count = dataset.shape.len();
            return trouble(format!("found {count} dimensions, expected at most two"));
        }
        // The first dimension counts the lines.
        let columns = |of: &[u64]| of.get(1..).unwrap_or_default().to_vec();
        let columns = IndexBox::new(columns(&region.start), columns(&region.count));
        let is_complex = dataset.data_type.kind() == Kind::Complex;
        let head = Head { dataset: dataset.name.clone(), is_complex, names: names(dataset), columns };
        if let Some(before) = &self.head {
            return match *before == head {
                true => Ok(()),
                false => trouble("the records have different columns".to_owned()),
            };
        }
        let mut line = if self.are_several { "record,".to_owned() } else { String::new() };
        let (first, count) = match (&head.columns.start[..], &head.columns.count[..]) {
            (&[first], &[count]) => (first, count),
            _ => (0, 1),
        };
        for column in first..first + count {
            let name = match &head.names[..] {
                _ if dataset.shape.len() < 2 => dataset.name.clone(),
                [] => format!("{}[{column}]", dataset.name),
                names => names[to_usize(column)].clone(),
            };
            let separator = if column == first { "" } else { "," };
            match is_complex {
                true => {
                    let (real, imaginary) = (cell(&format!("{name}.re")), cell(&format!("{name}.im")));
                    line += &format!("{separator}{real},{imaginary}");
                }
                false => line += &format!("{separator}{}", cell(&name)),
            }
        }
        self.head = Some(head);
        out.text(format_args!("{line}\n"))
    }
}

/// How numbers stand for dates, by the attributes units and calendar of the CF conventions; not of packed ones.
fn clock_of(dataset: &Dataset) -> Option<Clock> {
    let attributes = cf_decoding::attributes(&dataset.attributes);
    let text = |name: &str| attributes.get(name).and_then(Value::as_str);
    let is_number = matches!(dataset.data_type.kind(), Kind::Signed | Kind::Unsigned | Kind::Float);
    let is_packed = ["scale_factor", "add_offset"].iter().any(|name| attributes.contains_key(*name));
    Clock::of_units(text("units")?, text("calendar")).filter(|_| is_number && !is_packed)
}

/// The names of the columns that the attribute `columns` of a dataset of two dimensions has, if it is a list of as many texts.
fn names(dataset: &Dataset) -> Vec<String> {
    let attributes = attributes_of(&dataset.attributes);
    let columns = attributes.iter().find(|member| member.key == "columns");
    let names: Option<Vec<String>> = columns.and_then(|member| serde_json::from_str(member.text).ok());
    let fits = |names: &Vec<String>| dataset.shape.get(1) == Some(&(names.len() as u64));
    names.filter(fits).unwrap_or_default()
}

/// A text as a cell of a table. An empty one has quotes: some readers pass over lines without anything.
fn cell(text: &str, is_terminal: bool) -> String {
    let text = if is_terminal { visible(text) } else { text.to_owned() };
    let is_plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']);
    if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
