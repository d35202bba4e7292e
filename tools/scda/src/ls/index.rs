//! Lists a sealed file from its indexes alone.

use crate::datasets::{Addition, Item, added_to, announced, begins_streams, is_first};
use crate::fail::{Result, and_known, is_invalid};
use crate::files::Input;
use crate::output::Output;
use crate::rows::{Columns, Faults, as_f64, count_word, item_line};
use crate::select::{self, Selection};
use scda::Seals;
use scda::{Reader, SectionType};
use scda_format::index::Row;
use std::collections::HashSet;

/// Finds errors in the indexes by their checksums.
pub fn damage(reader: &mut Reader, seals: &mut Seals) -> Result<Option<scda::Error>> {
    if let Some(fault) = seals.fault.take() {
        return Ok(Some(fault));
    }
    match seals.all.iter().try_for_each(|sealed| reader.inspect().check_index(sealed)) {
        Ok(()) => Ok(None),
        Err(error) if is_invalid(&error) => Ok(Some(error)),
        Err(error) => Err(error.into()),
    }
}

/// Lists the selected sections.
pub fn list(
    out: &mut Output,
    reader: &mut Reader,
    input: &Input,
    seals: &Seals,
    selections: &[Selection],
) -> Result<()> {
    let mut lines =
        Lines { out, selections, faults: Faults::default(), selected: 0, held: None, added: HashSet::new() };
    let listed = lines.all(reader, seals).and_then(|number| {
        select::check(selections, input.name(), number)?;
        select::check_some(selections, input.name(), lines.selected)
    });
    and_known(listed, || lines.faults.end())
}

/// Writes lines from the rows of an index.
struct Lines<'a> {
    out: &'a mut Output,
    selections: &'a [Selection],
    faults: Faults,
    selected: u64,
    /// The first of several sections that belong together, while the others follow.
    held: Option<(Item, Row)>,
    /// The offsets of rows that were added to datasets, and belong to them.
    added: HashSet<u64>,
}

impl Lines<'_> {
    /// Lists all rows of all seals. Returns the number of sections.
    fn all(&mut self, reader: &mut Reader, seals: &Seals) -> Result<u64> {
        let (mut rows, mut number) = (Vec::new(), 0);
        for sealed in &seals.all {
            let (mut first, mut end) = (0, sealed.begin());
            while first < sealed.seal.rows() {
                reader.inspect().read_rows(sealed, first, end, &mut rows)?;
                for row in &rows {
                    end = row.end();
                    if let Some(section_type) = row.section {
                        number += 1;
                        self.next(reader, number, section_type, row)?;
                    }
                }
                first += rows.len() as u64;
            }
        }
        if let Some((item, row)) = self.held.take() {
            self.write(reader, &item, &row)?;
        }
        Ok(number)
    }

    /// Takes a row; rows that belong together become one line.
    fn next(&mut self, reader: &mut Reader, number: u64, section_type: SectionType, row: &Row) -> Result<()> {
        if let Some((item, first)) = self.held.take() {
            if number < item.last() {
                self.held = Some((item, first));
                return Ok(());
            }
            return self.write(reader, &item, row);
        }
        if self.is_of_dataset(section_type, row) {
            return Ok(());
        }
        if !is_first(section_type, &row.user) && !begins_streams(section_type, &row.user) {
            if select::any(self.selections, number, &row.user, false) {
                self.selected += 1;
                self.out.text(format_args!("{}\n", line(number, section_type, row)))?;
            }
            return Ok(());
        }
        reader.seek(row.offset)?;
        let Some(section) = reader.next_section(true)? else { return Ok(()) };
        let item = Item::new(reader, number, section)?;
        if let Some(dataset) = item.dataset() {
            self.added.extend(dataset.added_rows().flat_map(|rows| [rows.metadata, rows.data]));
        }
        if item.last() > number {
            self.held = Some((item, *row));
            return Ok(());
        }
        self.write(reader, &item, row)
    }

    /// True if a section announces or contains a later addition to a dataset. Added rows without a dataset are ordinary
    /// sections.
    fn is_of_dataset(&self, section_type: SectionType, row: &Row) -> bool {
        let addition = added_to(section_type, &row.user).map(|added| added.addition);
        match announced(section_type, &row.user).or(addition) {
            None => false,
            Some(Addition::Attributes) => true,
            Some(Addition::Rows) => self.added.contains(&row.offset),
        }
    }

    /// Writes the line of a section, or of several that belong together; `row` is their last row.
    fn write(&mut self, reader: &mut Reader, item: &Item, row: &Row) -> Result<()> {
        if !select::any_of(self.selections, item, Some(reader))? {
            return Ok(());
        }
        self.selected += 1;
        self.faults.add(item.fault());
        let text = item_line(item, row.bytes);
        let text = text.unwrap_or_else(|| line(item.number, item.section.section_type, row));
        self.out.text(format_args!("{text}\n"))
    }
}

/// The line of a section.
fn line(number: u64, section_type: SectionType, row: &Row) -> String {
    let Row { count, size, .. } = *row;
    let (e, bytes) = match section_type {
        SectionType::Inline => ("-".to_owned(), size),
        SectionType::Block => (size.to_string(), size),
        SectionType::Array => (size.to_string(), count.saturating_mul(size)),
        SectionType::Varray if count == 0 => ("-".to_owned(), size),
        SectionType::Varray => (format!("~{:.1}", as_f64(size) / as_f64(count)), size),
    };
    let (offset, stored) = (row.offset, row.is_compressed.then_some(row.bytes));
    let (kind, n) = (char::from(section_type.letter()), count_word(section_type, count));
    Columns { number, kind, n, e: &e, bytes, offset, stored, user: &row.user }.text()
}
