//! Ranks that are threads of which one runs at a time. A seed says which: at each call of the system and each exchange, the turn goes to
//! any rank that does not wait for others. It also says what fails.

use crate::common::Rng;
use scda::{Communicator, Error, Nodes, Result};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Nothing,
    /// Calls move fewer bytes than they should, or are interrupted.
    Short,
    /// The call of this number has this error; `true`: and all later ones of its rank.
    Error(u64, i32, bool),
    /// The exchange of this number, counted over all ranks, tells its rank of an error.
    Exchange(u64),
    /// A rank dies at the call or exchange of this number: so the job is killed.
    Death(u64),
}

impl Fault {
    pub fn random(rng: &mut Rng) -> Self {
        let number = rng.below(150);
        let errno = [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::ENOMEM][rng.below(4) as usize];
        match rng.below(6) {
            0 => Self::Nothing,
            1 => Self::Short,
            2 => Self::Error(number, errno, false),
            3 => Self::Error(number, errno, true),
            4 => Self::Exchange(2 * number),
            _ => Self::Death(2 * number),
        }
    }
}

/// What a call of the system does.
pub enum Call {
    /// As it should.
    Right,
    /// Moves half of the bytes.
    Short,
    Fails(i32),
}

/// A message of each rank, with the name of the exchange.
type Messages = Arc<Vec<(&'static str, Vec<u8>)>>;

/// Ranks that exchange with one another: all, those of a node, or the leaders of the nodes.
struct Group {
    ranks: Vec<usize>,
    messages: Vec<Option<(&'static str, Vec<u8>)>>,
    delivered: Messages,
}

impl Group {
    fn of(ranks: Vec<usize>) -> Self {
        Self { messages: vec![None; ranks.len()], ranks, delivered: Messages::default() }
    }
}

struct State {
    rng: Rng,
    fault: Fault,
    calls: u64,
    exchanges: u64,
    /// The rank whose calls all fail.
    broken: Option<usize>,
    /// The rank whose exchange fails.
    failing: Option<usize>,
    /// Whether a rank may have the turn: it waits for nobody.
    ready: Vec<bool>,
    finished: Vec<bool>,
    turn: Option<usize>,
    /// All ranks; if there are several nodes, those of each; and at last the leaders.
    groups: Vec<Group>,
    is_killed: bool,
    /// Nobody can go on.
    is_stuck: bool,
}

struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
}

/// What ends a rank whose job is killed.
struct Killed;

/// A rank of a schedule: its communicator.
#[derive(Clone)]
pub struct Scheduled {
    schedule: Arc<Schedule>,
    /// Its number among all ranks.
    number: usize,
    /// Whom it exchanges with, and its rank among them.
    group: usize,
    rank: usize,
}

thread_local! {
    static OWN: RefCell<Option<Scheduled>> = const { RefCell::new(None) };
}

/// What the next call of this thread does. If it is a rank, others may have their turn first.
pub fn next_call() -> Call {
    let own = OWN.with_borrow(Clone::clone);
    own.map_or(Call::Right, |own| own.call())
}

impl Scheduled {
    fn state(&self) -> MutexGuard<'_, State> {
        self.schedule.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the turn to any rank that is ready, and waits for it.
    fn pass<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.choose();
        self.schedule.changed.notify_all();
        while state.turn != Some(self.number) && !state.is_over() {
            state = self.schedule.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn call(&self) -> Call {
        let mut state = self.pass(self.state());
        let number = state.calls;
        state.calls += 1;
        if state.fault == Fault::Death(number + state.exchanges) {
            state.is_killed = true;
            self.schedule.changed.notify_all();
        }
        match state.fault {
            // Nothing happens any more; the next exchange ends the rank.
            _ if state.is_over() => Call::Fails(libc::EIO),
            Fault::Short => match state.rng.below(4) {
                0 => Call::Short,
                1 => Call::Fails(libc::EINTR),
                _ => Call::Right,
            },
            Fault::Error(at, errno, goes_on) => {
                if at == number && goes_on {
                    state.broken = Some(self.number);
                }
                if at == number || state.broken == Some(self.number) {
                    Call::Fails(errno)
                } else {
                    Call::Right
                }
            }
            _ => Call::Right,
        }
    }

    fn exchange(&self, what: &'static str, message: Vec<u8>) -> Result<Messages> {
        let mut state = self.state();
        let number = state.exchanges;
        state.exchanges += 1;
        state.is_killed |= state.fault == Fault::Death(number + state.calls);
        if state.fault == Fault::Exchange(number) {
            state.failing = Some(self.number);
        }
        state.ready[self.number] = false;
        let State { groups, ready, .. } = &mut *state;
        let group = &mut groups[self.group];
        group.messages[self.rank] = Some((what, message));
        if group.messages.iter().all(Option::is_some) {
            group.delivered = Arc::new(group.messages.iter_mut().map(|left| left.take().unwrap()).collect());
            group.ranks.iter().for_each(|&rank| ready[rank] = true);
        }
        let state = self.pass(state);
        if state.is_over() {
            drop(state);
            match std::thread::panicking() {
                true => return Err(Error::communication("the job is killed")),
                false => resume_unwind(Box::new(Killed)),
            }
        }
        let delivered = Arc::clone(&state.groups[self.group].delivered);
        assert!(delivered.iter().all(|(other, _)| *other == what), "ranks met in different exchanges");
        Ok(delivered)
    }

    /// Whether the exchange that this rank has just made fails.
    pub fn fails(&self) -> bool {
        self.state().failing.take_if(|rank| *rank == self.number).is_some()
    }

    fn reduce(
        &self,
        what: &'static str,
        values: &mut [u64],
        ranks: usize,
        start: u64,
        combine: fn(u64, u64) -> u64,
    ) -> Result<()> {
        let all = self.exchange(what, values.iter().flat_map(|value| value.to_ne_bytes()).collect())?;
        values.fill(start);
        for (_, message) in &all[..ranks] {
            for (value, bytes) in values.iter_mut().zip(message.as_chunks().0) {
                *value = combine(*value, u64::from_ne_bytes(*bytes));
            }
        }
        Ok(())
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.is_killed || self.is_stuck
    }

    fn choose(&mut self) {
        let ready: Vec<usize> = (0..self.ready.len()).filter(|rank| self.ready[*rank]).collect();
        self.turn = (!ready.is_empty()).then(|| ready[self.rng.below(ready.len() as u64) as usize]);
        self.is_stuck |=
            !self.is_killed && self.turn.is_none() && !self.finished.iter().all(|finished| *finished);
    }
}

impl Communicator for Scheduled {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.state().groups[self.group].ranks.len()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.reduce("allreduce_min", values, self.size(), u64::MAX, u64::min)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.reduce("allreduce_sum", values, self.size(), 0, u64::wrapping_add)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.reduce("exscan_sum", values, self.rank, 0, u64::wrapping_add)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        let all = self.exchange("allgather", value.to_ne_bytes().to_vec())?;
        Ok(all.iter().map(|(_, message)| u64::from_ne_bytes(message[..].try_into().unwrap())).collect())
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        let all = self.exchange("broadcast", if self.rank == root { bytes.to_vec() } else { Vec::new() })?;
        bytes.copy_from_slice(&all[root].1);
        Ok(())
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        let messages = self.exchange("gather", bytes.to_vec())?;
        all.clear();
        if self.rank == 0 {
            messages.iter().for_each(|(_, message)| all.extend(message));
        }
        Ok(())
    }
    fn nodes(&self) -> Result<Option<Nodes>> {
        let state = self.state();
        let within = |group: usize| {
            let rank = state.groups[group].ranks.iter().position(|number| *number == self.number)?;
            Some(Box::new(Self { group, rank, ..self.clone() }) as Box<dyn Communicator>)
        };
        let last = state.groups.len() - 1;
        Ok((self.group == 0)
            .then(|| (1..last).find_map(within))
            .flatten()
            .map(|node| Nodes::new(node, within(last))))
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End<T> {
    Returned(T),
    Killed,
}

/// Runs a program on nodes with so many ranks each.
///
/// # Panics
/// If ranks wait for one another for ever, or one panics.
pub fn run<T: Send>(
    what: &str,
    seed: u64,
    nodes: &[usize],
    fault: Fault,
    program: impl Fn(Scheduled) -> T + Sync,
) -> Vec<End<T>> {
    let ranks = nodes.iter().sum();
    let mut groups = vec![Group::of((0..ranks).collect())];
    if nodes.len() > 1 {
        let ends = nodes.iter().scan(0, |end, node| {
            *end += node;
            Some(*end)
        });
        let all: Vec<Vec<usize>> = ends.zip(nodes).map(|(end, node)| (end - node..end).collect()).collect();
        let leaders = all.iter().map(|node| node[0]).collect();
        groups.extend(all.into_iter().chain([leaders]).map(Group::of));
    }
    let state = State {
        rng: Rng(seed),
        fault,
        calls: 0,
        exchanges: 0,
        broken: None,
        failing: None,
        ready: vec![true; ranks],
        finished: vec![false; ranks],
        turn: None,
        groups,
        is_killed: false,
        is_stuck: false,
    };
    let schedule = Arc::new(Schedule { state: Mutex::new(state), changed: Condvar::new() });
    let first = Scheduled { schedule: Arc::clone(&schedule), number: 0, group: 0, rank: 0 };
    first.state().choose();
    let program = &program;
    let ends = std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..ranks)
            .map(|rank| {
                let own = Scheduled { number: rank, rank, ..first.clone() };
                scope.spawn(move || {
                    let mut state = own.state();
                    while state.turn != Some(rank) && !state.is_over() {
                        state = own.schedule.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    }
                    drop(state);
                    OWN.set(Some(own.clone()));
                    let end = catch_unwind(AssertUnwindSafe(|| program(own.clone())));
                    OWN.set(None);
                    let mut state = own.state();
                    (state.ready[rank], state.finished[rank]) = (false, true);
                    state.choose();
                    own.schedule.changed.notify_all();
                    match end {
                        Ok(end) => End::Returned(end),
                        Err(panic) if panic.is::<Killed>() => End::Killed,
                        Err(panic) => {
                            state.is_killed = true;
                            drop(state);
                            resume_unwind(panic)
                        }
                    }
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    assert!(!first.state().is_stuck, "{what}: ranks wait for one another for ever");
    ends
}
