use super::*;
use scda_ranks::{ThreadComm, run_on_threads};
use std::sync::Mutex;

fn team(comm: impl Communicator + 'static) -> Team {
    Team::new(Box::new(comm), "f.scda")
}

fn error(result: Result<Agreed<'_>, Failure>) -> Error {
    match result {
        Err(Failure::Agreed(error)) => error,
        _ => panic!("expected an agreed error"),
    }
}

#[test]
fn the_error_of_the_lowest_rank_is_everybodys() {
    let texts = run_on_threads(4, |comm| {
        let mut team = team(comm);
        let mine = match team.rank() {
            0 | 2 => Ok(()),
            rank => Err(Error::argument(format!("bad {rank}")).at(7)),
        };
        let error = error(team.agree(mine));
        (error.kind(), error.offset(), error.rank(), error.to_string())
    });
    for text in texts {
        let words = "f.scda: byte 7: rank 1: bad 1".to_owned();
        assert_eq!(text, (ErrorKind::Argument, Some(7), Some(1), words));
    }
}

/// What all ranks say about what they have noted.
fn words_of(size: usize, note: impl Fn(&mut Team) + Sync) -> String {
    let mut texts = run_on_threads(size, |comm| {
        let mut team = team(comm);
        team.note_call(Function::SetAttributes);
        team.note(Topic::Root, 0);
        note(&mut team);
        error(team.agree(Ok(()))).to_string()
    });
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    texts.remove(0).strip_prefix("f.scda: the ranks disagree on ").unwrap().to_owned()
}

#[test]
fn a_disagreement_names_the_call_and_two_values() {
    let of_rank = |other: usize, rank: usize| rank == other;
    let user = words_of(3, |team| {
        let other = of_rank(1, team.rank());
        team.note_bytes(Topic::UserString, &[], if other { b"abc" } else { b"abd" });
    });
    assert_eq!(user, "the user string or name: rank 0 passes \"abd\" to set_attributes, rank 1 \"abc\"");
    let number = words_of(4, |team| {
        let _call = calls::begin("scda_c::open::scda_fwrite_field::{{closure}}");
        let record = if of_rank(3, team.rank()) { u64::MAX } else { 7 };
        team.note_named(Topic::Number, &["the record"], &[record]);
    });
    let topic = Topic::ALL[Topic::Number as usize].1;
    assert_eq!(number, format!("{topic}: rank 0 passes the record 7 to scda_fwrite_field, rank 3 -1"));
    // Of several numbers, the one that differs; of a long text, the place; and what follows is not looked at.
    let text = words_of(2, |team| {
        let rank = team.rank() as u64;
        team.note_named(Topic::Parameters, &["a", "b", "c"], &[1, 2 + rank, 3 + rank]);
    });
    assert_eq!(text, "a parameter of opening: rank 0 passes b 2 to set_attributes, rank 1 3");
    let text = words_of(2, |team| {
        let text = format!("{}shape: [{}]{}", "x".repeat(100), team.rank(), "y".repeat(100));
        team.note_bytes(Topic::Dataset, &["the metadata"], text.as_bytes());
        team.note_bytes(Topic::Dataset, &["the metadata"], team.rank().to_string().as_bytes());
    });
    let shown = |rank| format!("...\"{}shape: [{rank}]{}\"...", "x".repeat(12), "y".repeat(18));
    let expected = format!("rank 0 passes the metadata {} to set_attributes, rank 1 {}", shown(0), shown(1));
    assert_eq!(text, format!("the dataset or group: {expected}"));
    // Metadata have a key on each line; they are those of the dataset whose name was noted before.
    let metadata = words_of(2, |team| {
        let text =
            format!("{{\n\"zarr_format\":3,\n\"shape\":[{},4],\n\"fill_value\":0.0\n}}\n", 10 + team.rank());
        team.note_bytes(Topic::Dataset, &["the name"], b"rho");
        team.note_bytes(Topic::Dataset, &["the metadata"], text.as_bytes());
    });
    let expected =
        r#"rank 0 passes the metadata of "rho": "shape":[10,4] to set_attributes, rank 1 "shape":[11,4]"#;
    assert_eq!(metadata, format!("the dataset or group: {expected}"));
    let one_more = words_of(2, |team| {
        let more = if team.rank() == 0 { ",\n\"attributes\":{\"a\":1}" } else { "" };
        let text = format!("{{\n\"shape\":[10,4]{more}\n}}\n");
        team.note_bytes(Topic::Dataset, &["the metadata"], text.as_bytes());
    });
    let expected = r#"rank 0 passes the metadata "attributes":{"a":1} to set_attributes, rank 1 nothing"#;
    assert_eq!(one_more, format!("the dataset or group: {expected}"));
    let kinds = words_of(2, |team| match team.rank() {
        0 => team.note_named(Topic::Dataset, &["extends"], &[1]),
        _ => team.note_bytes(Topic::Dataset, &["the name"], b"\x1b"),
    });
    assert_eq!(kinds, "the dataset or group: rank 0 passes other values to set_attributes than rank 1");
    let control = words_of(2, |team| {
        let text: &[u8] = if team.rank() == 0 { b"a\n" } else { b"\x1b[1m" };
        team.note_bytes(Topic::UserString, &[], text);
    });
    assert_eq!(
        control,
        r#"the user string or name: rank 0 passes "a\n" to set_attributes, rank 1 "\x1b[1m""#
    );
    let hash = words_of(2, |team| {
        team.note_named(Topic::Parameters, &["a", "#b"], &[1, team.rank() as u64]);
    });
    assert_eq!(hash, "a parameter of opening: rank 0 passes another b to set_attributes than rank 1");
    let counts = words_of(2, |team| {
        team.note_partition(Topic::Counts, &[4, 5 + team.rank() as u64]).unwrap();
    });
    assert_eq!(counts, "the counts of elements N_q: rank 0 passes 4, 5 to set_attributes, rank 1 4, 6");
}

#[test]
fn a_call_of_one_rank_alone_is_named() {
    let function = words_of(3, |team| {
        if team.rank() < 2 {
            team.note_call(Function::WriteGroup);
            team.note_bytes(Topic::Dataset, &["the name"], b"a");
        }
        team.note_call(Function::Close);
    });
    assert_eq!(function, "the function that is called: rank 0 calls write_group, rank 2 close");
}

#[test]
fn what_is_no_longer_remembered_is_not_compared() {
    for count in [10, 63, 64, 65, 100, 1000] {
        let words = words_of(2, |team| {
            team.note_named(Topic::Number, &[], &[team.rank() as u64]);
            (0..count).for_each(|number| team.note_named(Topic::Number, &[], &[number]));
        });
        let topic = Topic::ALL[Topic::Number as usize].1;
        let values = if count == 10 { ": rank 0 passes 0 to set_attributes, rank 1 1" } else { "" };
        assert_eq!(words, format!("{topic}{values}"), "{count}");
    }
    // Ranks that have forgotten at different times do not compare what does not belong together.
    let words = words_of(2, |team| {
        let text = vec![b'a'; if team.rank() == 0 { 10 } else { 2000 }];
        (0..5).for_each(|_| team.note_bytes(Topic::UserString, &[], &text));
    });
    assert_eq!(words, "the user string or name");
}

#[test]
fn ranks_that_wait_in_different_files_say_so() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let is_told = |rank: usize, file: &str| {
        // Rank 0 is called from C.
        let call = if rank == 0 { "scda_fclose" } else { "Close" };
        let words =
            format!("libscda: {file}: rank {rank} of 2 has waited 0 s for the others in the call {call}: ");
        TOLD.lock().unwrap().iter().any(|told| told.starts_with(&words))
    };
    let [first, second] = [(); 2].map(|()| ThreadComm::new(2));
    std::thread::scope(|scope| {
        for (a, b) in first.into_iter().zip(second) {
            scope.spawn(move || {
                let mut teams = [("a", a), ("b", b)].map(|(name, comm)| {
                    let mut team = Team::new(Box::new(comm), name);
                    team.tell_waits(|words| TOLD.lock().unwrap().push(words.to_owned()));
                    team.note_call(Function::Close);
                    team
                });
                let is_first = teams[0].rank() == 0;
                let _call = is_first.then(|| calls::begin("scda_c::open::scda_fclose::{{closure}}"));
                // Rank 1 comes to the second file after rank 0 has reported that it waits there.
                assert!(teams[0].agree(Ok(())).is_ok());
                while teams[0].rank() == 1 && !is_told(0, "b") {
                    std::thread::yield_now();
                }
                assert!(teams[1].agree(Ok(())).is_ok());
            });
        }
    });
    assert!(!is_told(1, "b"));
}

#[test]
fn a_deferred_error_comes_up_at_the_next_agreement_and_no_later() {
    run_on_threads(2, |comm| {
        let mut team = team(comm);
        if team.rank() == 1 {
            team.defer(Err(Error::usage("late")));
        }
        assert_eq!(error(team.agree(Ok(()))).kind(), ErrorKind::Usage);
        assert!(team.agree(Ok(())).is_ok());
    });
}

#[test]
fn what_one_rank_has_all_get() {
    run_on_threads(3, |comm| {
        let mut team = team(comm);
        let own = [u64::MAX, 5 + team.rank() as u64];
        assert_eq!(team.share(0, Ok(own)).ok(), Some([u64::MAX, 5]));
        assert_eq!(team.share(1, Ok(own)).ok(), Some([u64::MAX, 6]));
        let mut least = [3 - team.rank() as u64, 7];
        assert!(team.agree_with(Ok(()), &mut least).is_ok());
        assert_eq!(least, [1, 7]);
        let mine = if team.rank() == 2 { Err(Error::usage("no")) } else { Ok([0]) };
        assert!(
            matches!(team.share(0, mine), Err(Failure::Agreed(error)) if error.kind() == ErrorKind::Usage)
        );
    });
}

#[test]
fn many_counts_are_compared_and_added_up_in_every_call() {
    let size = FEW + 4;
    let texts = run_on_threads(size, |comm| {
        let mut team = team(comm);
        let (rank, mut counts) = (team.rank(), (0..size as u64).collect::<Vec<_>>());
        for _ in 0..2 {
            let part = team.note_partition(Topic::Counts, &counts).unwrap();
            assert_eq!(part, Partition::new(&counts, rank, size).unwrap());
            assert!(team.agree(Ok(())).is_ok());
            counts.reverse();
        }
        if rank == 13 {
            // Most ranks have the same partition.
            counts.swap(2, 3);
        }
        team.note_call(Function::WriteArray);
        team.note_partition(Topic::Counts, &counts).unwrap();
        error(team.agree(Ok(()))).to_string()
    });
    let expected = "f.scda: the ranks disagree on the counts of elements N_q: rank 0 passes other values to \
                    write_array than rank 13";
    assert!(texts.iter().all(|text| text == expected), "{texts:?}");
}

#[test]
fn sums_beyond_63_bits_do_not_wrap() {
    run_on_threads(4, |comm| {
        let team = team(comm);
        let agreed = Agreed(&team);
        assert!(agreed.spread(u64::MAX / 2).is_err());
        assert!(agreed.spread(1 << 62).is_err());
        let rank = team.rank() as u64;
        let part = agreed.spread(1 << 33).ok().unwrap();
        assert_eq!(part, Partition { offset: rank << 33, count: 1 << 33, total: 4 << 33 });
    });
}
