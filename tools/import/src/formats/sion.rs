//! The streams of SIONlib become a varray, and what the file says of them datasets.

use super::{Format, Import, ImportSource, attributes, file_name};
use crate::Foreign;
use crate::fail::Result;
use crate::output::complain;
use crate::progress::{CountingReader, Progress};
use crate::sion::{INLINE_KEY_VALUES, MAGIC, NO_KEY_VALUES, Sion, SionHeader};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use scda::{DataType, Dataset, Encode, IndexBox, Writer};
use serde_json::{Value, json};

/// Lets the process open as many files as it may: all physical files are open at once.
fn open_many() {
    let limit = getrlimit(Resource::Nofile);
    // If it fails, opening a file does, too, and says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Streams of the tasks of a program, in one or several physical files.
pub const FORMAT: Format = Format {
    name: "SIONlib",
    beginning: Some("sion"),
    magics: &[MAGIC],
    endings: &[],
    members: &[],
    options: &["--salvage"],
    import: write,
};

fn write(_: &Format, source: ImportSource, import: &Import<'_>) -> Result<()> {
    let (input, file) = source.file()?;
    let file = &file;
    open_many();
    let name = file.name();
    let sion = Sion::read(Foreign::open(input.path(), name)?, input.path(), import.salvage)?;
    let is_whole = complain_of_losses(import, &sion, name)?;
    let knows_lengths = sion.missing().next().is_none();
    let records = records_to_list(import, &sion, name, knows_lengths)?;
    let is_complete =
        is_whole && (records.is_some() || sion.header().key_values() != Some(INLINE_KEY_VALUES));

    let mut output = import.create(input, file, sion.files().map(|(file, _)| file))?;
    let writer = output.writer()?;
    writer.group("/", &attributes(file, "SIONlib", is_complete, facts(&sion)))?;
    put_tasks(writer, &sion)?;
    if knows_lengths {
        let shape = [sion.max_blocks(), sion.tasks() as u64];
        let dataset = Dataset::new("sion/block_bytes", DataType::Uint64, shape);
        writer.incremental().dataset(&dataset, &mut sion.block_bytes())?;
    } else {
        let known = (0..sion.tasks()).map(|task| [u8::from(sion.knows_length(task))]);
        put(writer, "sion/lengths_known", DataType::Bool, known)?;
        let least = (0..sion.tasks()).map(|task| sion.least_bytes(task)).collect::<Result<Vec<_>, _>>()?;
        put(writer, "sion/least_bytes", DataType::Uint64, least.iter().map(|bytes| bytes.to_ne_bytes()))?;
    }
    if let Some(count) = records {
        let mut dataset = Dataset::new("sion/records", DataType::Uint64, [count, 4]);
        dataset.attributes = json!({ "columns": ["task", "key", "offset", "bytes"] }).to_string();
        writer.incremental().dataset(&dataset, &mut sion.records().numbers())?;
    }
    let mut progress =
        Progress::new(&format!("import {name}"), sion.files().map(|(file, _)| file.size()).sum());
    let mut streams = CountingReader { data: sion.streams(), progress: &mut progress };
    writer.incremental().varray(b"sion/streams", sion.tasks() as u64, &mut streams, Encode::None)?;
    drop(progress);
    output.finish()
}

/// Complains of what is missing or wrong. Returns whether nothing is.
fn complain_of_losses(import: &Import<'_>, sion: &Sion, name: &str) -> Result<bool> {
    sion.lost().for_each(|(error, tasks)| complain(&format!("{error}; {}", missing_tasks(&tasks))));
    if let Err(cut) = sion.check_data() {
        import.tolerate(&cut)?;
    }
    let missing: Vec<_> = sion.missing().collect();
    missing.iter().for_each(|error| complain(&error.to_string()));
    if !missing.is_empty() {
        complain(&format!("{name}: the streams of these tasks are all bytes of their chunks"));
    }
    sion.wrong_mapping().into_iter().for_each(|error| complain(&error.to_string()));
    if !sion.knows_order() {
        complain(&format!(
            "{name}: there is no mapping of the tasks: their order is that of the physical files"
        ));
    }
    let mut is_whole = missing.is_empty() && sion.lost().next().is_none() && sion.wrong_mapping().is_none();
    for error in sion.wrong_ends() {
        complain(&format!("{error}; no data are missing"));
        is_whole = false;
    }
    Ok(is_whole)
}

/// The number of key-value records, if they are to be listed.
fn records_to_list(import: &Import<'_>, sion: &Sion, name: &str, knows_lengths: bool) -> Result<Option<u64>> {
    let why = match sion.header().key_values() {
        None | Some(NO_KEY_VALUES) => return Ok(None),
        Some(INLINE_KEY_VALUES) if knows_lengths => return count_records(import, sion),
        Some(INLINE_KEY_VALUES) => {
            "its key-value records are not listed, because the lengths are not known".to_owned()
        }
        Some(mode) => format!("key-value mode {mode} is not known: its records are not listed"),
    };
    complain(&format!("{name}: {why}"));
    Ok(None)
}

/// Writes what the headers say of each task.
fn put_tasks(writer: &mut Writer, sion: &Sion) -> Result<()> {
    let all = 0..sion.tasks();
    let (ranks, chunk_bytes, blocks) = (
        all.clone().map(|task| sion.rank(task).to_ne_bytes()),
        all.clone().map(|task| sion.chunk_bytes(task).to_ne_bytes()),
        all.clone().map(|task| sion.blocks(task).to_ne_bytes()),
    );
    put(writer, "sion/global_ranks", DataType::Int64, ranks)?;
    put(writer, "sion/chunk_bytes", DataType::Uint64, chunk_bytes)?;
    put(writer, "sion/blocks", DataType::Uint64, blocks)?;
    if sion.has_several_files() {
        let files = all.clone().map(|task| (sion.place(task).0 as u64).to_ne_bytes());
        put(writer, "sion/physical_files", DataType::Uint64, files)?;
    }
    if sion.lost().next().is_some() {
        let is_there = all.map(|task| [u8::from(sion.is_there(task))]);
        put(writer, "sion/found", DataType::Bool, is_there)?;
    }
    Ok(())
}

/// Which tasks are missing, in words.
fn missing_tasks(tasks: &[usize]) -> String {
    const MOST: usize = 20;
    let runs: Vec<_> = tasks.chunk_by(|a, b| a + 1 == *b).collect();
    let words = runs.iter().take(MOST).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        _ => run.iter().map(usize::to_string).collect(),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    match (tasks.len(), runs.len()) {
        (0, _) => "which tasks are missing is not known".to_owned(),
        (1, _) => format!("task {words} is missing"),
        (_, ..=MOST) => format!("tasks {words} are missing"),
        (count, _) => format!("{count} tasks are missing: {words}, ..."),
    }
}

/// The number of key-value records, if the streams consist of them.
fn count_records(import: &Import<'_>, sion: &Sion) -> Result<Option<u64>> {
    let (mut records, mut count) = (sion.records(), 0);
    loop {
        match records.next_record() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return Ok(Some(count)),
            Err(error) => {
                import.tolerate(&error)?;
                complain("its key-value records are not listed");
                return Ok(None);
            }
        }
    }
}

/// Writes a number of each task.
fn put<const N: usize>(
    writer: &mut Writer,
    name: &str,
    data_type: DataType,
    numbers: impl Iterator<Item = [u8; N]>,
) -> Result<()> {
    let data: Vec<u8> = numbers.flatten().collect();
    let dataset = Dataset::new(name, data_type, [(data.len() / N) as u64]);
    Ok(writer.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &data)?)
}

/// What the headers say.
fn facts(sion: &Sion) -> Value {
    let order = |is_big: bool| if is_big { "big" } else { "little" };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let of_file = |(file, header): (&Foreign, &SionHeader)| {
        json!({
            "file": file_name(file),
            "bytes": file.size(),
            "number": header.later.map(|(number, _)| number),
            "tasks": header.tasks,
            "max_blocks": header.max_blocks,
            "name_when_made": text(&header.prefix),
        })
    };
    let header = sion.header();
    json!({
        "format_version": header.format_version,
        "version": header.version,
        "patch_level": header.patch_level,
        "byte_order": order(header.big_endian),
        "data_byte_order": order(header.big_endian_data),
        "fs_block_bytes": header.fs_block_bytes,
        "flags": header.later.map(|(_, flags)| flags),
        "key_values": match header.key_values() {
            Some(INLINE_KEY_VALUES) => json!("inline"),
            None | Some(NO_KEY_VALUES) => json!("none"),
            Some(other) => json!(other),
        },
        "tasks": sion.tasks(),
        "missing_files": sion.lost().count(),
        "tasks_in_order": sion.knows_order(),
        "physical_files": sion.files().map(of_file).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tasks_are_named_by_their_runs() {
        assert_eq!(missing_tasks(&[]), "which tasks are missing is not known");
        assert_eq!(missing_tasks(&[5]), "task 5 is missing");
        assert_eq!(missing_tasks(&[1, 2, 3, 7, 9, 10]), "tasks 1 to 3, 7, 9 to 10 are missing");
        let odd: Vec<usize> = (0..21).map(|n| 2 * n + 1).collect();
        assert!(missing_tasks(&odd[..20]).starts_with("tasks 1, 3, 5, 7, 9, "));
        let found = missing_tasks(&odd);
        assert!(found.starts_with("21 tasks are missing: 1, 3, ") && found.ends_with(", 39, ..."), "{found}");
    }
}
