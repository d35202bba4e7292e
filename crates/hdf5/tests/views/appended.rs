//! Views of files that are appended to: each refers to the one before.

use crate::file::{TestFile, view_of, with_view, with_views, write, written};
use crate::programs::{compare, dump, in_h5py, in_python};
use crate::rng::Rng;
use crate::sampled;
use crate::series::numbers;
use scda::{Codec, DataType, Dataset, Layout, Solo, WriteOptions, Writer};
use scda_format::dataset::stored_name;
use scda_hdf5::{Previous, View};

/// Appends what a program writes; the bytes of the new view, 0 if there is none.
fn append(file: &TestFile, program: impl FnOnce(&mut Writer)) -> u64 {
    let before = file.superblock();
    let mut writer = Writer::append(Solo, &file.path, &with_views()).unwrap();
    program(&mut writer);
    writer.close().unwrap();
    if file.superblock() == before { 0 } else { file.bytes_of_last_view() }
}

fn step(writer: &mut Writer, step: u64, fields: u64) {
    let time = Dataset::new("time", DataType::Float64, []);
    write(writer, &time, &(step as f64).to_le_bytes());
    for field in 0..fields {
        let mut dataset = Dataset::new(format!("fields/f{field}"), DataType::Float64, [4, 3]);
        dataset.dimension_names = vec![Some("y".into()), Some("x".into())];
        dataset.attributes = r#"{"units": "kg m-3", "long_name": "a field of the flow"}"#.into();
        if field == 1 {
            dataset.layout = Layout::Chunked { shape: Some(vec![2, 3]), text: false };
            dataset.codec = Codec::Zlib;
        }
        let data: Vec<u8> =
            (0..12_u64).flat_map(|n| ((step * 100 + n + field) as f64).to_le_bytes()).collect();
        write(writer, &dataset, &data);
    }
}

#[test]
fn steps_that_are_appended_are_seen() {
    let fields = 5;
    let file = with_view(|writer| {
        writer.group("/", r#"{"title": "a series"}"#)?;
        write(writer, &Dataset::new("fields/x", DataType::Float64, [3]), &numbers(3));
        write(writer, &Dataset::new("mesh/cells", DataType::Float64, [3]), &numbers(3));
        step(writer, 0, fields);
        Ok(())
    });
    let sizes: Vec<u64> = (1..60).map(|n| append(&file, |writer| step(writer, n, fields))).collect();
    let mut names: Vec<String> = (0..fields).map(|n| format!("fields/f{n}")).collect();
    names.extend(["time", "fields/x", "mesh/cells"].map(String::from));
    compare(&file, &names);
    dump(&file);
    in_h5py(
        &file,
        "assert f['fields/f1'].shape == (60, 4, 3) and f.attrs['title'] == 'a series' and sorted(f) == ['fields', 'mesh', 'time']\nassert f['fields/f0'].attrs['units'] == 'kg m-3'",
    );
    in_python(
        &file,
        &["xarray", "h5netcdf"],
        r"
d = xarray.open_dataset(path, engine='h5netcdf', group='fields')
assert d.f1.dims == ('time', 'y', 'x') and dict(d.sizes) == {'time': 60, 'y': 4, 'x': 3}, d.sizes
assert (d.f4.values[59] == np.arange(12).reshape(4, 3) + 5904).all()
",
    );
    // A heap, and for each of six datasets its object header and the nodes of its tree that are not full.
    assert!(sizes.iter().all(|&bytes| bytes < 512 + 6 * 1000), "{sizes:?}");
}

#[test]
fn long_names_are_shown_in_full() {
    let long = format!("group/{}", "é".repeat(40));
    let file = with_view(|writer| {
        let mut dataset = Dataset::new(stored_name(&long), DataType::Int8, [1]);
        dataset.attributes = format!(r#"{{"scda_name": "{long}"}}"#);
        write(writer, &dataset, &[7]);
        Ok(())
    });
    for step in 0..2 {
        in_h5py(
            &file,
            &format!(
                "name = 'é' * 40\nassert list(f['group']) == [name] and f['group'][name].size == {}",
                step + 1
            ),
        );
        append(&file, |writer| {
            let mut dataset = Dataset::new(stored_name(&long), DataType::Int8, [1]);
            dataset.attributes = format!(r#"{{"scda_name": "{long}"}}"#);
            write(writer, &dataset, &[8]);
        });
    }
}

#[test]
fn datasets_of_other_names_are_added_to_a_large_group() {
    let file = with_view(|writer| {
        for n in 0..600 {
            write(
                writer,
                &Dataset::new(format!("d{n:04}"), DataType::Float64, []),
                &(n as f64).to_le_bytes(),
            );
        }
        Ok(())
    });
    let mut sizes = Vec::new();
    for n in 0..40_u64 {
        let bytes = append(&file, |writer| {
            for k in 0..20 {
                let number = 600 + 20 * n + k;
                let dataset = Dataset::new(format!("d{number:04}"), DataType::Float64, []);
                write(writer, &dataset, &(number as f64).to_le_bytes());
            }
            if n == 30 {
                // A dataset in the oldest block of links changes.
                write(writer, &Dataset::new("d0007", DataType::Float64, []), &1e9_f64.to_le_bytes());
            }
        });
        sizes.push(bytes);
    }
    in_h5py(
        &file,
        r"
assert sorted(f) == ['d%04d' % n for n in range(1400)], len(f)
assert all(f['d%04d' % n][()] == n for n in range(1400) if n != 7) and list(f['d0007']) == [7, 1e9]
",
    );
    dump(&file);
    assert_eq!(append(&file, |_| {}), 0, "nothing is new");
    // The first one writes all links, which were in a heap; so does one that finds a change in the oldest block.
    let links = |bytes: &u64| *bytes > 4000;
    assert_eq!(sizes.iter().filter(|bytes| links(bytes)).count(), 2, "{sizes:?}");
}

/// Gives the objects that are found by their signatures the checksums that they should have.
pub fn mend(bytes: &mut [u8]) {
    for at in 0..bytes.len().saturating_sub(150) {
        let end = match &bytes[at..at + 4] {
            b"OHDR" => {
                let width = 1 << (bytes[at + 5] & 3);
                let length = bytes[at + 6..][..width]
                    .iter()
                    .rev()
                    .fold(0_usize, |all, byte| all << 8 | usize::from(*byte));
                at.saturating_add(6 + width).saturating_add(length & 0xffff_ffff)
            }
            b"BTHD" => at + 34,
            b"FRHP" => at + 142,
            _ => continue,
        };
        if end + 4 <= bytes.len() {
            let sum = scda_hdf5::checksum(&bytes[at..end]);
            bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

#[test]
fn a_damaged_view_leads_to_another_or_to_an_error() {
    let mut rng = Rng(7);
    let mut before = View::new();
    let file = written(|writer| {
        for n in 0..550 {
            write(writer, &Dataset::new(format!("many/d{n}"), DataType::Int8, []), &[7]);
        }
        (0..30).for_each(|n| step(writer, n, 2));
        Ok(())
    });
    let mut first = 0;
    for round in 0..3 {
        first = std::fs::metadata(&file.path).unwrap().len() as usize;
        let now = view_of(&std::fs::read(&file.path).unwrap());
        if round == 0 {
            file.add(now.clone());
        } else {
            file.add_after(&now, &before);
        }
        before = now;
        let mut writer = Writer::append(Solo, &file.path, &WriteOptions::default()).unwrap();
        (0..20).for_each(|n| step(&mut writer, 30 + 20 * round + n, 2));
        write(&mut writer, &Dataset::new(format!("many/e{round}"), DataType::Int8, []), &[1]);
        writer.close().unwrap();
    }
    let bytes = std::fs::read(&file.path).unwrap();
    let now = view_of(&bytes);
    let root = scda_hdf5::Superblock::of_bytes(bytes[512..].first_chunk().unwrap()).unwrap().unwrap().root;
    let from = bytes.windows(17).position(|user| user == b"scda hdf5 view 00").unwrap();
    let signatures: [&[u8]; 6] = [b"OHDR", b"OCHK", b"BTHD", b"BTLF", b"BTIN", b"FRHP"];
    let begins = |at: &usize| signatures.contains(&&bytes[*at..*at + 4]);
    let objects: Vec<usize> =
        (from..bytes.len() - 4).filter(begins).filter(|at| *at >= first || at % 64 == 0).collect();
    let before = before.take_objects().unwrap();
    let (mut errors, mut views) = (0, 0);
    let rounds = std::env::var("SCDA_MUTATIONS").map(|number| number.parse().unwrap());
    for _ in 0..rounds.unwrap_or(20_000 / sampled::one_of(100)) {
        let mut bytes = bytes.clone();
        for _ in 0..=rng.below(4) {
            // Not far after the beginning of an object.
            let object = objects[rng.below(objects.len() as u64) as usize];
            let at = (object + rng.below(90) as usize).min(bytes.len() - 1);
            bytes[at] = if rng.below(2) == 0 { rng.next() as u8 } else { [0, 1, 255][rng.below(3) as usize] };
        }
        if rng.below(4) > 0 {
            mend(&mut bytes[from..]);
        }
        let mut read = |offset: u64, to: &mut [u8]| {
            to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
            Ok(())
        };
        let previous = Previous { root, read: &mut read };
        match now.write_after(bytes.len() as u64 + 96, &before, previous) {
            Ok(_) => views += 1,
            Err(error) => {
                assert_eq!(error.kind(), scda::ErrorKind::Format, "{error}");
                errors += 1;
            }
        }
    }
    assert!(errors > 20 && views > 20, "{errors} {views}");
}
