#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)] // test data

use super::*;
use proptest::prelude::*;

/// The offsets of items, in C order, computed one by one.
fn naive(count: &[u64], strides: &[i64]) -> Vec<i64> {
    let all: u64 = count.iter().product();
    let place = |n: u64| {
        let (mut rest, mut place) = (n, 0);
        for (&n, &stride) in count.iter().zip(strides).rev() {
            place += (rest % n) as i64 * stride;
            rest /= n;
        }
        place
    };
    (0..all).map(place).collect()
}

/// A box in memory: counts; strides in items, which may be negative; and the size of an item.
fn boxes() -> impl Strategy<Value = (Vec<u64>, Vec<i64>, usize)> {
    let dimensions = prop::collection::vec((0_u64..5, 0_i64..4, any::<bool>()), 0..5);
    (dimensions, prop::sample::select(vec![1_usize, 2, 3, 4, 8, 16, 24])).prop_map(|(dimensions, item)| {
        let (mut strides, mut packed) = (Vec::new(), item as i64);
        for &(n, gap, is_back) in dimensions.iter().rev() {
            strides.push(if is_back { -packed } else { packed });
            packed *= n.max(1) as i64 + gap;
        }
        strides.reverse();
        (dimensions.iter().map(|d| d.0).collect(), strides, item)
    })
}

proptest! {
    #[test]
    fn any_items_are_gathered_and_scattered((count, strides, item) in boxes(), start in 0_u64..9) {
        let places = naive(&count, &strides);
        let least = places.iter().copied().min().unwrap_or(0);
        let most = places.iter().copied().max().unwrap_or(0) + item as i64;
        let bytes: Vec<u8> = (0..most - least).map(|n| (n * 7 + n / 251) as u8).collect();
        let first = -least as usize;
        let memory = Memory::strided(&bytes, first, &strides);
        // As one dimension of all items, or as a dataset with the same dimensions.
        let data_type = DataType::Raw(item as u32);
        let items = if start % 2 == 0 {
            memory.items(&count, data_type).unwrap()
        } else {
            memory.shaped(&count).items(&[places.len() as u64], data_type).unwrap()
        };
        prop_assert_eq!(items.bytes(), (places.len() * item) as u64);
        let start = start.min(places.len() as u64);
        let expected: Vec<u8> = places[start as usize..].iter()
            .flat_map(|place| { let at = (first as i64 + place) as usize; bytes[at..at + item].to_vec() })
            .collect();
        let mut found = vec![0; expected.len()];
        prop_assert_eq!(items.gather(start, &mut found), None);
        prop_assert_eq!(&found, &expected);
        if let Some(packed) = items.packed() {
            prop_assert_eq!(&packed[start as usize * item..], &expected[..]);
        }
        // Scattered back, without touching anything else.
        let mut back = vec![0xEE; bytes.len()];
        MemoryMut::strided(&mut back, first, &strides).items(&count, DataType::Raw(item as u32)).unwrap().scatter(start, &found, false);
        let mut should = vec![0xEE; bytes.len()];
        for place in &places[start as usize..] {
            let at = (first as i64 + place) as usize;
            should[at..at + item].copy_from_slice(&bytes[at..at + item]);
        }
        prop_assert_eq!(back, should);
    }
}

#[test]
fn memory_that_a_box_does_not_fit_is_refused() {
    let bytes = [0; 64];
    let text =
        |memory: Memory<'_>, count: &[u64]| memory.items(count, DataType::Raw(8)).unwrap_err().to_string();
    assert_eq!(text(Memory::packed(&bytes), &[9]), "data: found 64 bytes, expected 72");
    assert_eq!(
        text(Memory::strided(&bytes, 0, &[16]), &[5]),
        "box: found items from byte 0 to byte 72, expected them in memory of 64 bytes"
    );
    assert_eq!(
        text(Memory::strided(&bytes, 8, &[-8]), &[3]),
        "box: found items from byte -8 to byte 16, expected them in memory of 64 bytes"
    );
    assert_eq!(text(Memory::strided(&bytes, 0, &[8, 8]), &[3]), "strides: found 2, expected 1");
    assert_eq!(
        text(Memory::strided(&bytes, 0, &[8, 8]).shaped(&[2, 2]), &[3]),
        "shape in memory: found [2, 2], expected as many items as a box of [3]"
    );
    assert!(text(Memory::strided(&bytes, 0, &[i64::MAX]), &[3]).contains("exceeds the memory"));
    assert!(text(Memory::strided(&bytes, 0, &[i64::MIN, 8]), &[2, 2]).contains("exceeds the memory"));
    assert!(text(Memory::strided(&bytes, 0, &[i64::MAX]), &[2]).contains("exceeds the memory"));
    Memory::strided(&bytes, 60, &[i64::MAX, 4]).items(&[0, 7], DataType::Raw(8)).unwrap();
    let mut bytes = [0; 64];
    let error = MemoryMut::strided(&mut bytes, 0, &[4]).items(&[3], DataType::Raw(8)).unwrap_err();
    assert!(error.to_string().starts_with("strides: one is less than the 8 bytes"), "{error}");
}
