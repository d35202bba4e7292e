//! Calls out of order, and arguments that are not those of the header.

use super::{Scratch, error_of_all, params, small_model};
use crate::common::write_on;
use scda::{ErrorKind, Reader, Result, Sink};

#[test]
fn calls_out_of_order_are_usage_errors_on_all_ranks() {
    let scratch = Scratch::new();
    write_on(1, &scratch.path(), &small_model(), &params(true), 1);
    type Program = fn(&mut Reader) -> Result<()>;
    let cases: [(&str, usize, Program); 9] = [
        ("header, header", 0, |f| f.next_section(false).map(drop)),
        ("I as B", 0, |f| f.read_block(32, 0, None)),
        ("B as I", 1, |f| f.read_inline(0, None)),
        ("B as A", 1, |f| f.read_array(&[1, 2], 5, Sink::Skip)),
        ("A as V", 2, |f| f.read_varray_sizes(&[1, 2], None)),
        ("V as A", 3, |f| f.read_array(&[1, 2], 0, Sink::Skip)),
        ("V without sizes", 3, |f| f.read_varray(&[1, 2], None, None, Sink::Skip)),
        ("sizes twice", 3, |f| {
            f.read_varray_sizes(&[1, 2], None).unwrap();
            f.read_varray_sizes(&[1, 2], None)
        }),
        ("header after sizes", 3, |f| {
            f.read_varray_sizes(&[1, 2], None).unwrap();
            f.next_section(false).map(drop)
        }),
    ];
    let skip = |file: &mut Reader, index: usize| -> Result<()> {
        for section in 0..=index {
            file.next_section(false)?;
            if section == index {
                break;
            }
            match section {
                0 => file.read_inline(0, None)?,
                1 => file.read_block(5, 0, None)?,
                _ => file.read_array(&[1, 2], 2, Sink::Skip)?,
            }
        }
        Ok(())
    };
    for (name, index, program) in cases {
        for check in [true, false] {
            let error = error_of_all(2, |comm| {
                let mut file = Reader::open(comm, scratch.path(), &params(check)).unwrap();
                skip(&mut file, index).unwrap();
                program(&mut file)
            });
            assert_eq!(error.kind(), ErrorKind::Usage, "{name}: {error}");
        }
    }
    let error = error_of_all(2, |comm| {
        let mut file = Reader::open(comm, scratch.path(), &params(false)).unwrap();
        file.read_inline(0, None)
    });
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn what_the_header_said_must_be_repeated() {
    let scratch = Scratch::new();
    write_on(1, &scratch.path(), &small_model(), &params(true), 1);
    type Program = fn(&mut Reader) -> Result<()>;
    fn at_varray(file: &mut Reader) {
        file.read_block(5, 0, None).unwrap();
        file.next_section(true).unwrap();
        file.read_array(&[1, 2], 2, Sink::Skip).unwrap();
        file.next_section(true).unwrap();
    }
    let cases: [Program; 8] = [
        |f| f.read_block(4, 0, None),
        |f| f.read_block(5, 2, None),
        |f| f.read_block(5, 0, Some(&mut [0; 4])).and_then(|()| f.next_section(false).map(drop)),
        |f| {
            f.read_block(5, 0, None).unwrap();
            f.next_section(true).unwrap();
            f.read_array(&[1, 1], 2, Sink::Skip)
        },
        |f| {
            f.read_block(5, 0, None).unwrap();
            f.next_section(true).unwrap();
            f.read_array(&[1, 2], 3, Sink::Skip)
        },
        |f| {
            at_varray(f);
            f.read_varray_sizes(&[3, 3], None)
        },
        |f| {
            at_varray(f);
            f.read_varray_sizes(&[3, 0], None).unwrap();
            f.read_varray(&[3, 0], Some(&[1, 3, 2]), None, Sink::Contiguous(&mut [0; 6]))
        },
        |f| {
            at_varray(f);
            f.read_varray_sizes(&[3, 0], None).unwrap();
            f.read_varray(&[3, 0], None, Some(&[5, 1]), Sink::Skip)
        },
    ];
    for (index, program) in cases.into_iter().enumerate() {
        let error = error_of_all(2, |comm| {
            let mut file = Reader::open(comm, scratch.path(), &params(true)).unwrap();
            file.next_section(true).unwrap();
            file.read_inline(0, None).unwrap();
            file.next_section(true).unwrap();
            program(&mut file)
        });
        assert_eq!(error.kind(), ErrorKind::Argument, "case {index}: {error}");
    }
}
