//! Prints the values of datasets.

use super::Args;
use crate::datasets::box_parts::{self, BoxParts, each_item};
use crate::datasets::{dataset_at, to_little, values};
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::formats::{DataFormat, check_terminal};
use crate::output::{Output, visible};
use crate::ranges::Bounds;
use scda::{Dataset, DatasetHandle, IndexBox, Reader, Section};
use scda_base::numbers::to_usize;

/// Prints items of a dataset.
struct Values<'a> {
    out: &'a mut Output,
    dataset: &'a DatasetHandle,
    as_bytes: bool,
    columns: usize,
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
            self.text.push_str(if self.in_line > 0 { " " } else { "" });
            values::show(data_type, item, &mut self.text);
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

/// The bytes of items that are printed from any file, and the multiple of its size that is printed from a larger one;
/// with --box, there is no limit.
const MOST_BYTES: u64 = 16 << 20;
const MOST_TIMES: u64 = 1000;

/// Prints a dataset, with this block of metadata.
pub fn print(
    out: &mut Output,
    (reader, input): (&mut Reader, &Input),
    args: &Args,
    block: &Section,
) -> Result<()> {
    let as_bytes = match args.format {
        None => false,
        Some(DataFormat::Bytes) => true,
        Some(_) => {
            let words =
                "a dataset is shown according to its type; use --as bytes, or --raw to show the section";
            return Err(Fail::file(input.name(), words));
        }
    };
    let Some(dataset) = dataset_at(reader, block.offset)? else { return Ok(()) };
    if args.range.is_some() {
        let name = visible(&dataset.name);
        let words = "--range applies to sections; use --box, or --raw to show the section";
        return Err(Fail::file(input.name(), format_args!("dataset \"{name}\": {words}")));
    }
    if args.region.is_none() {
        check_size(&dataset, input, reader.inspect().file_size().unwrap_or(0))?;
    }
    let region = Bounds::region(args.region.as_ref(), input, &dataset)?;
    check_terminal(out, as_bytes, dataset.name.as_bytes(), "without --as, the values are shown")?;
    let columns = if region.count.len() > 1 { region.count.last().map_or(1, |&n| to_usize(n)) } else { 1 };
    let mut values = Values { out, dataset: &dataset, as_bytes, columns, in_line: 0, text: String::new() };
    let mut data = Vec::new();
    let mut result = Ok(());
    for slab in BoxParts::new(&dataset, region) {
        result = box_parts::read(reader, &dataset, &slab, &mut data).and_then(|()| values.print(&mut data));
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

/// Fails if the items have far more bytes than the file: chunks of the fill value are not stored, so printing the
/// items of a file of 2 KB could take a day.
fn check_size(dataset: &Dataset, input: &Input, file_bytes: u64) -> Result<()> {
    let data_type = dataset.data_type;
    let text_bytes = if data_type.is_variable() { dataset.fill_value.len() as u64 } else { 0 };
    let item_bytes = data_type.item_bytes() + text_bytes;
    let all = dataset.shape.iter().fold(item_bytes, |bytes, &n| bytes.saturating_mul(n));
    if all <= file_bytes.saturating_mul(MOST_TIMES).max(MOST_BYTES) {
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
