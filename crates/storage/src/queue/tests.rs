//! Tests of the queue and its thread.

use super::*;
use crate::double::Double;
use scda_base::environment::LEAST_BACKGROUND_BYTES;
use scda_base::error::ErrorKind;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

fn title(labels: &mut dyn Iterator<Item = &[u8]>) -> Option<String> {
    labels.next().map(|label| format!("section \"{}\"", label.escape_ascii()))
}

/// A file that is full at offset 7, and panics at 99.
fn failing() -> Double {
    Double::failing(|offset, _| {
        assert_ne!(offset, 99, "deliberately");
        if offset == 7 { Err(Error::new(ErrorKind::NoSpace, "full")) } else { Ok(()) }
    })
}

#[test]
fn bytes_are_written_in_the_order_of_the_calls_and_the_memory_is_bounded() {
    let (go, wait) = channel::<()>();
    let written = Arc::<Mutex<Vec<u8>>>::default();
    let all = Arc::clone(&written);
    let file = Double::written(move |offset, runs| {
        wait.recv().unwrap();
        let mut all = all.lock().unwrap();
        let end = usize::try_from(offset).unwrap() + runs.concat().len();
        let length = all.len().max(end);
        all.resize(length, 0);
        all[usize::try_from(offset).unwrap()..end].copy_from_slice(&runs.concat());
    });
    let mut queue = Queue::new(file, LEAST_BACKGROUND_BYTES, title);
    let (small, large) = (vec![1; 3], vec![2; 600 << 10]);
    queue.write_at(0, &[&small, &large]).unwrap();
    assert!(!queue.is_settled());
    // The thread has written nothing yet, and there is no memory for a second copy.
    let most = queue.thread.as_ref().unwrap().held_bytes();
    assert!((large.len() as u64..=LEAST_BACKGROUND_BYTES).contains(&most), "{most}");
    for _ in 0..10 {
        go.send(()).unwrap();
    }
    queue.write_at(1, &[&large, &small]).unwrap();
    queue.settle().unwrap();
    assert!(queue.is_settled());
    let expected = [&[1], large.as_slice(), &small].concat();
    assert!(*written.lock().unwrap() == expected);
    let times = queue.times();
    let bytes = 2 * (small.len() + large.len()) as u64;
    assert_eq!((times.copied_bytes, times.written_bytes), (bytes, bytes));
    Box::new(queue).close().unwrap();
}

#[test]
fn the_first_error_is_told_until_the_end_with_its_section_and_nothing_more_is_written() {
    let mut queue = Queue::new(failing(), LEAST_BACKGROUND_BYTES, title);
    queue.label(0, b"a");
    queue.label(5, b"b");
    queue.write_at(0, &[b"1"]).unwrap();
    queue.write_at(7, &[b"1"]).unwrap();
    for _ in 0..2 {
        let error = queue.settle().unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::NoSpace, "byte 7: section \"b\": full".into())
        );
    }
    assert_eq!(queue.write_at(0, &[b"1"]).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(queue.run(|_| Ok(())).unwrap_err().kind(), ErrorKind::NoSpace);
    queue.truncate(0).unwrap();
    assert_eq!(Box::new(queue).close().unwrap_err().kind(), ErrorKind::NoSpace);
}

#[test]
fn an_error_is_named_by_the_labels_from_its_offset_on() {
    let mut queue = Queue::new(failing(), LEAST_BACKGROUND_BYTES, |labels| {
        Some(format!("{:?}", labels.collect::<Vec<_>>()))
    });
    queue.label(0, b"a");
    queue.label(5, b"b");
    queue.settle().unwrap();
    queue.label(9, b"refused");
    queue.label(9, b"c");
    queue.write_at(7, &[b"1"]).unwrap();
    assert_eq!(queue.settle().unwrap_err().to_string(), "byte 7: [[98], [99]]: full");
}

#[test]
#[allow(unsafe_code)]
fn memory_that_is_lent_is_not_copied() {
    let written = Arc::<Mutex<Vec<(u64, usize, Vec<u8>)>>>::default();
    let all = Arc::clone(&written);
    let file = Double::written(move |offset, runs| {
        let run = runs.concat();
        all.lock().unwrap().push((offset, runs[0].as_ptr().addr(), run));
    });
    let mut queue = Queue::new(file, LEAST_BACKGROUND_BYTES, title);
    let (lent, other) = (vec![1; 3 << 20], vec![2; 2 * LEAST_LENT_BYTES]);
    let (first, rest) = lent.split_at(LEAST_LENT_BYTES - 1);
    // SAFETY: the memory outlives the queue.
    queue.lend(Some(unsafe { LentMemory::new(&lent) }));
    queue.write_at(3, &[b"head", rest, first, &other, b"tail"]).unwrap();
    queue.lend(None);
    queue.write_at(9 << 20, &[rest]).unwrap();
    queue.settle().unwrap();
    let copied = (rest.len() + first.len() + other.len() + 8) as u64;
    assert_eq!(
        (queue.times().copied_bytes, queue.times().written_bytes),
        (copied, copied + rest.len() as u64)
    );
    let written = written.lock().unwrap();
    let (start, own) = (rest.as_ptr().addr(), lent.as_ptr_range());
    assert_eq!((written[0].0, written[0].2.as_slice()), (3, b"head".as_slice()));
    assert_eq!((written[1].0, written[1].1, written[1].2.len()), (7, start, rest.len()));
    let mut end = 7;
    for (offset, address, bytes) in &written[1..] {
        assert_eq!(*address == start, end == 7);
        assert!(end == 7 || !(own.start.addr()..own.end.addr()).contains(address));
        end = if *offset == 9 << 20 { *offset } else { end };
        assert_eq!(*offset, end);
        end += bytes.len() as u64;
    }
    Box::new(queue).close().unwrap();
}

#[test]
fn memory_that_is_reserved_is_not_given_to_jobs_and_waits_for_them() {
    let (go, wait) = channel::<()>();
    let mut queue =
        Queue::new(Double::written(move |_, _| wait.recv().unwrap()), LEAST_BACKGROUND_BYTES, title);
    let half = queue.most_reserved();
    queue.reserve(half).unwrap();
    let run = vec![1; 200 << 10];
    queue.write_at(0, &[&run]).unwrap();
    let bytes = |queue: &Queue<_>| queue.thread.as_ref().unwrap().held_bytes();
    assert!((half + (200 << 10)..=LEAST_BACKGROUND_BYTES).contains(&bytes(&queue)));
    (0..2).for_each(|_| go.send(()).unwrap());
    // There is no memory for both until the first is written.
    queue.write_at(0, &[&run, &run]).unwrap();
    (0..2).for_each(|_| go.send(()).unwrap());
    let (done, is_done) = channel();
    queue.work(move || done.send(()).map_err(|_| gone())).unwrap();
    queue.settle().unwrap();
    is_done.recv().unwrap();
    queue.release(half);
    assert!(bytes(&queue) < half);
    queue.reserve(LEAST_BACKGROUND_BYTES).unwrap();
    queue.work(|| Err(Error::usage("deliberately"))).unwrap();
    assert_eq!(queue.settle().unwrap_err().to_string(), "deliberately");
}

#[test]
fn a_thread_that_is_held_begins_nothing_until_something_waits_for_it() {
    let go_on: [fn(&mut Queue<Double>); 3] = [
        Queue::go_on,
        |queue| queue.settle().unwrap(),
        |queue| {
            // There is no memory before the job is done.
            queue.reserve(LEAST_BACKGROUND_BYTES).unwrap();
            queue.release(LEAST_BACKGROUND_BYTES);
        },
    ];
    for go_on in go_on {
        let (done, is_done) = channel();
        let mut queue = Queue::new(Double::written(|_, _| {}), LEAST_BACKGROUND_BYTES, title);
        queue.hold();
        queue.work(move || done.send(()).map_err(|_| gone())).unwrap();
        (0..1000).for_each(|_| std::thread::yield_now());
        is_done.try_recv().unwrap_err();
        go_on(&mut queue);
        is_done.recv().unwrap();
    }
}

#[test]
fn a_panic_of_the_thread_is_an_error_and_the_file_is_back() {
    let mut queue = Queue::new(failing(), LEAST_BACKGROUND_BYTES, title);
    queue.write_at(99, &[b"1"]).unwrap();
    assert_eq!(queue.settle().unwrap_err().kind(), ErrorKind::Internal);
    queue.truncate(0).unwrap();
}

#[test]
fn what_was_not_written_when_the_queue_is_dropped_never_is() {
    let (go, wait) = channel::<()>();
    let file = Double::written(move |offset, _| {
        assert_eq!(offset, 0);
        wait.recv().unwrap();
    });
    let mut queue = Queue::new(file, LEAST_BACKGROUND_BYTES, title);
    queue.write_at(0, &[b"1"]).unwrap();
    queue.write_at(1, &[b"1"]).unwrap();
    queue.thread.as_ref().unwrap().end();
    go.send(()).unwrap();
    drop(queue);
}
