//! The list of a sealed file, from its indexes alone.

use super::{Line, as_f64};
use crate::fail::{Result, is_invalid};
use crate::output::Output;
use crate::select::{self, Selection};
use scda::internals::{Seals, index::Row};
use scda::{Reader, SectionType};

/// What is wrong with the indexes, if anything is: their checksums are compared.
pub fn damage(reader: &mut Reader, seals: &mut Seals) -> Result<Option<scda::Error>> {
    if let Some(fault) = seals.fault.take() {
        return Ok(Some(fault));
    }
    match seals.all.iter().try_for_each(|sealed| reader.check_index(sealed)) {
        Ok(()) => Ok(None),
        Err(error) if is_invalid(&error) => Ok(Some(error)),
        Err(error) => Err(error.into()),
    }
}

/// Lists the sections that are meant.
pub fn list(
    out: &mut Output,
    reader: &mut Reader,
    name: &str,
    seals: &Seals,
    selections: &[Selection],
) -> Result<()> {
    let (mut rows, mut number, mut selected) = (Vec::new(), 0, 0);
    for sealed in &seals.all {
        let (mut first, mut end) = (0, sealed.begin());
        while first < sealed.seal.rows() {
            reader.read_rows(sealed, first, end, &mut rows)?;
            for row in &rows {
                end = row.end();
                let Some(section_type) = row.section else { continue };
                number += 1;
                if select::any(selections, number, &row.user) {
                    selected += 1;
                    out.text(format_args!("{}\n", line(number, section_type, row)))?;
                }
            }
            first += rows.len() as u64;
        }
    }
    select::check(selections, name, number)?;
    select::check_some(selections, name, selected)
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
    Line { number, section_type, count, e: &e, bytes, offset, stored, user: &row.user }.text()
}
