//! A model of commit, append, completion and agreement, all of whose states are tried.

mod protocol;
mod search;

use self::protocol::{Mistake, Protocol};
use self::search::search;

#[test]
fn no_commit_is_lost_whenever_the_job_is_killed_or_power_is_lost() {
    for background in [false, true] {
        match search(&Protocol::new(background, Mistake::None)) {
            Ok(states) => {
                println!("background: {background}, {states} states");
                assert!(states > 10_000, "{states}");
            }
            Err((fault, way)) => panic!("{fault}:\n{}", way.join("\n")),
        }
    }
}

#[test]
fn each_mistake_is_found() {
    for mistake in Mistake::ALL {
        let (fault, way) = search(&Protocol::new(true, mistake)).expect_err(&format!("{mistake:?}"));
        println!("{mistake:?}, after {} events: {fault}", way.len());
    }
}
