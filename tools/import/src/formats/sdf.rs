//! Arrays of SDF become datasets.

use super::{Format, Import, ImportSource, attributes};
use crate::fail::Result;
use crate::output::{complain, hex, quote};
use crate::progress::{CountingReader, Progress};
use crate::sdf::{Array, MAGIC, Sdf};
use scda::Dataset;
use serde_json::{Value, json};

/// The format of seismic data.
pub const FORMAT: Format = Format {
    name: "SDF",
    beginning: Some("SDF format"),
    magics: &[MAGIC],
    endings: &[],
    members: &[],
    options: &["--salvage"],
    import: write,
};

fn write(_: &Format, source: ImportSource, import: &Import<'_>) -> Result<()> {
    let (input, file) = source.file()?;
    let sdf = Sdf::read(&file)?;
    if let Some(damage) = &sdf.damage {
        import.tolerate(damage)?;
    }
    let mut output = import.create(input, &file, [&file])?;
    let writer = output.writer()?;
    let facts = json!({ "arrays": sdf.arrays.len() });
    writer.group("/", &attributes(&file, "SDF", sdf.damage.is_none(), facts))?;
    let mut progress = Progress::new(&format!("import {}", file.name()), file.size());
    for (order, (array, name)) in sdf.arrays.iter().zip(sdf.names()).enumerate() {
        let shown = format!("{}: array {order}, {}", file.name(), quote(&array.label));
        if !sdf.is_whole(array) {
            complain(&format!("{shown}: is skipped, because its data are not whole"));
            continue;
        }
        if !array.is_known() {
            let letter = char::from(array.letter);
            complain(&format!(
                "{shown}: type {letter} with {} bytes per word: the bytes stay as they are",
                array.word_bytes
            ));
        }
        let (data_type, shape) = array.dataset();
        let mut dataset = Dataset::new(name, data_type, shape);
        dataset.attributes = json!({ "sdf": facts_of(order, array) }).to_string();
        let mut data = CountingReader { data: sdf.data(array), progress: &mut progress };
        writer.incremental().dataset(&dataset, &mut data)?;
    }
    drop(progress);
    output.finish()
}

/// What the file says of an array.
fn facts_of(order: usize, array: &Array) -> Value {
    let label = match std::str::from_utf8(&array.label) {
        Ok(label) => json!({ "label": label }),
        Err(_) => json!({ "label_hex": hex(&array.label) }),
    };
    let mut facts = json!({
        "order": order,
        "type": char::from(array.letter).to_string(),
        "bytes_per_word": array.word_bytes,
        "dims": array.dims,
    });
    if let (Some(facts), Value::Object(label)) = (facts.as_object_mut(), label) {
        facts.extend(label);
    }
    if !array.is_known()
        && let Some(facts) = facts.as_object_mut()
    {
        facts.insert("byte_order".to_owned(), "big".into());
    }
    facts
}
