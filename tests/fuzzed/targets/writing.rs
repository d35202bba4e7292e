//! Any data are written, on one rank and on several, and read back.

use super::input::Input;
use super::{Apart, Scratch};
use crate::common::{Data, Model, Want, read, tuned, write};
use crate::naive::Naive;
use scda::{Encode, ReadOptions, Solo, run_on_threads};

/// Writes any data, has the naive reader check the file, and reads it back.
pub fn round_trip(input: &[u8]) {
    let mut input = Input(input);
    let (params, seed) = (input.params(), input.word());
    let mut model = input.model();
    let scratch = Scratch::new();
    write(Solo, &scratch.0, &model, &params, seed).unwrap();
    settle(&mut model, &std::fs::read(&scratch.0).unwrap());
    for want in [Want::All, Want::Some, Want::Nothing] {
        read(Solo, &scratch.0, &model, &tuned(&params.tuning), want, seed).unwrap();
    }
}

/// Compares a file with the model that was written, and notes for which sections compression was chosen.
fn settle(model: &mut Model, file: &[u8]) {
    let decode = !cfg!(miri);
    let found = Naive { file, decode }.read();
    assert!(found.complete);
    assert_eq!(found.user.as_ref(), Some(&model.user));
    assert_eq!(found.sections.len(), model.sections.len());
    for (found, section) in found.sections.iter().zip(&mut model.sections) {
        assert_eq!(found.user, section.user);
        assert_eq!(found.letter, section.data.section_type().letter());
        if section.encode == Encode::Auto {
            section.encode = if found.decoded { Encode::Always } else { Encode::None };
        }
        assert_eq!(found.decoded, section.encode == Encode::Always);
        let (sizes, data) = match &section.data {
            Data::Inline(data) => (vec![], data.to_vec()),
            Data::Block(data) => (vec![], data.clone()),
            Data::Array { elements, .. } => (vec![], elements.concat()),
            Data::Varray(elements) => (elements.iter().map(|e| e.len() as u64).collect(), elements.concat()),
        };
        assert_eq!(found.sizes, sizes);
        assert!(found.data.as_ref().is_none_or(|found| *found == data));
    }
}

/// Writes any data on one rank and on several with any partition: the files are the same. Other ranks read it.
pub fn partitions(input: &[u8]) {
    let mut input = Input(input);
    let (params, seed) = (input.params(), input.word());
    let (writers, readers) = (2 + input.below(4), 2 + input.below(4));
    let shares = [input.below(2) == 0, input.below(2) == 0];
    let (mut writing, mut reading) = (params.clone(), tuned::<ReadOptions>(&params.tuning));
    input.access(&mut writing.tuning);
    writing.tuning.threads = 1 + input.below(3);
    writing.atomic = input.below(4) == 0;
    input.access(&mut reading.tuning);
    let mut model = input.model();
    let (alone, together) = (Scratch::new(), Scratch::new());
    write(Solo, &alone.0, &model, &params, 0).unwrap();
    run_on_threads(writers, |comm| match shares[0] {
        true => write(comm, &together.0, &model, &writing, seed).unwrap(),
        false => write(Apart(comm), &together.0, &model, &writing, seed).unwrap(),
    });
    let file = std::fs::read(&alone.0).unwrap();
    assert!(file == std::fs::read(&together.0).unwrap(), "{writers} ranks wrote another file than one");
    settle(&mut model, &file);
    run_on_threads(readers, |comm| match shares[1] {
        true => read(comm, &together.0, &model, &reading, Want::Some, seed).unwrap(),
        false => read(Apart(comm), &together.0, &model, &reading, Want::Some, seed).unwrap(),
    });
}
