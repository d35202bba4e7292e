//! Ranks that are threads, and the threads that these start, of which one runs at a time. A seed says which: at each call of the system, each
//! exchange, and wherever one waits for another, the turn goes to any that does not wait for others. It also says what fails.

use crate::common::Rng;
use libc::{c_long, pthread_t};
use scda::{Communicator, Error, Nodes, Result};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Nothing,
    /// Calls move fewer bytes than they should, or are interrupted.
    Short,
    /// The call of this number has this error; `true`: and all later ones of its rank.
    Error(u64, i32, bool),
    /// Likewise, of the calls of threads that ranks have started.
    InThread(u64, i32, bool),
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

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq)]
enum Wait {
    /// It may have the turn.
    Nothing,
    /// For the ranks that it exchanges with.
    Exchange,
    /// Until another thread has changed what is at this address, and says so.
    Change(usize),
    /// For the end of this thread.
    End(usize),
    /// It has ended.
    Over,
}

struct Thread {
    /// The rank that it is, or that has started it.
    rank: usize,
    wait: Wait,
    /// The number at the address of [`Wait::Change`], when it began to wait.
    expected: u32,
    /// Of a thread that a rank has started.
    handle: Option<pthread_t>,
}

struct State {
    rng: Rng,
    fault: Fault,
    calls: u64,
    calls_in_threads: u64,
    exchanges: u64,
    /// The rank whose calls all fail.
    broken: Option<usize>,
    /// The rank whose exchange fails.
    failing: Option<usize>,
    /// The ranks, and after them the threads that these have started.
    threads: Vec<Thread>,
    turn: Option<usize>,
    /// Whether a call failed that a thread made which a rank has started.
    failed_in_thread: bool,
    /// All ranks; if there are several nodes, those of each; and at last the leaders.
    groups: Vec<Group>,
    is_killed: bool,
    /// Nobody can go on.
    is_stuck: bool,
}

struct Schedule {
    /// What is run, for messages.
    what: String,
    state: Mutex<State>,
    changed: Condvar,
}

/// What ends a rank whose job is killed.
struct Killed;

/// A thread of a schedule.
#[derive(Clone)]
pub struct Own {
    schedule: Arc<Schedule>,
    /// Its number; that of a rank is its number among all ranks.
    number: usize,
}

/// A rank of a schedule: its communicator.
#[derive(Clone)]
pub struct Scheduled {
    own: Own,
    /// Whom it exchanges with, and its rank among them.
    group: usize,
    rank: usize,
}

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
    /// The schedule itself uses locks.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// What the next call of this thread does. If it is one of a schedule, others may have their turn first.
pub fn next_call() -> Call {
    Own::get().map_or(Call::Right, |own| own.call())
}

/// Exclusive access to the state of a schedule.
struct Inside<'a> {
    state: Option<MutexGuard<'a, State>>,
}

impl std::ops::Deref for Inside<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        self.state.as_ref().unwrap()
    }
}

impl std::ops::DerefMut for Inside<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_mut().unwrap()
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.state = None;
        IS_INSIDE.set(false);
    }
}

impl Own {
    /// This thread, if it is one of a schedule, and not inside of it.
    pub fn get() -> Option<Self> {
        // While a thread ends, it has none.
        if IS_INSIDE.get() { None } else { OWN.try_with(|own| own.borrow().clone()).ok().flatten() }
    }

    fn state(&self) -> Inside<'_> {
        assert!(!IS_INSIDE.replace(true));
        Inside { state: Some(self.schedule.state.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    /// Waits for the turn.
    fn await_turn(&self, inside: &mut Inside<'_>) {
        self.schedule.changed.notify_all();
        while inside.turn != Some(self.number) && !inside.is_over() {
            let state = inside.state.take().unwrap();
            inside.state = Some(self.schedule.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Gives the turn to any thread that waits for nothing, and waits for it.
    fn pass(&self, inside: &mut Inside<'_>) {
        inside.choose();
        self.await_turn(inside);
    }

    /// Lets others have their turn. `false` if the run is over.
    pub fn pass_on(&self) -> bool {
        let mut inside = self.state();
        self.pass(&mut inside);
        !inside.is_over()
    }

    /// The thread begins, when it has the turn.
    pub fn begin(&self) {
        self.await_turn(&mut self.state());
        OWN.set(Some(self.clone()));
    }

    /// The thread is over.
    pub fn finish(&self) {
        OWN.set(None);
        self.finish_in(&mut self.state());
    }

    fn finish_in(&self, inside: &mut Inside<'_>) {
        inside.threads[self.number].wait = Wait::Over;
        inside.wake(Wait::End(self.number), usize::MAX);
        inside.choose();
        self.schedule.changed.notify_all();
    }

    /// A thread that this one starts.
    pub fn start(&self) -> Self {
        let mut inside = self.state();
        let rank = inside.threads[self.number].rank;
        inside.threads.push(Thread { rank, wait: Wait::Nothing, expected: 0, handle: None });
        Self { number: inside.threads.len() - 1, ..self.clone() }
    }

    pub fn set_handle(&self, handle: pthread_t) {
        self.state().threads[self.number].handle = Some(handle);
    }

    /// Waits for the end of a thread.
    pub fn join(&self, handle: pthread_t) {
        let mut inside = self.state();
        let Some(other) = inside.threads.iter().rposition(|thread| thread.handle == Some(handle)) else {
            return;
        };
        if inside.threads[other].wait != Wait::Over && !inside.is_over() {
            inside.threads[self.number].wait = Wait::End(other);
            self.pass(&mut inside);
        }
    }

    /// Waits until another thread says that it has changed this number, unless it is no longer the one expected. `None`: when the run is
    /// over, threads wait for one another without a schedule.
    pub fn wait(&self, place: &AtomicU32, expected: u32) -> Option<c_long> {
        let mut inside = self.state();
        if inside.is_over() {
            return None;
        }
        if place.load(Ordering::SeqCst) == expected {
            inside.threads[self.number].wait = Wait::Change(place.as_ptr() as usize);
            inside.threads[self.number].expected = expected;
            self.pass(&mut inside);
            if inside.is_stuck {
                eprintln!("{}: threads wait for one another for ever", self.schedule.what);
                std::process::abort();
            }
        }
        // Whoever waits looks again.
        Some(0)
    }

    /// Says that at most `most` threads need not wait for a change at this address any more.
    pub fn wake(&self, place: usize, most: usize) -> Option<c_long> {
        let mut inside = self.state();
        if inside.is_over() {
            return None;
        }
        let woken = inside.wake(Wait::Change(place), most);
        if woken > 0 {
            self.pass(&mut inside);
        }
        Some(woken as c_long)
    }

    /// What the next call of this thread does.
    pub fn call(&self) -> Call {
        let mut state = self.state();
        self.pass(&mut state);
        let rank = state.threads[self.number].rank;
        let (number, is_in_thread) = (state.calls, self.number != rank);
        state.calls += 1;
        let number_in_threads = state.calls_in_threads;
        state.calls_in_threads += u64::from(is_in_thread);
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
            Fault::Error(at, errno, goes_on) | Fault::InThread(at, errno, goes_on) => {
                let is_it = match state.fault {
                    Fault::InThread(..) => is_in_thread && at == number_in_threads,
                    _ => at == number,
                };
                if is_it && goes_on {
                    state.broken = Some(rank);
                }
                if is_it || state.broken == Some(rank) {
                    state.failed_in_thread |= is_in_thread;
                    Call::Fails(errno)
                } else {
                    Call::Right
                }
            }
            _ => Call::Right,
        }
    }
}

impl Scheduled {
    fn exchange(&self, what: &'static str, message: Vec<u8>) -> Result<Messages> {
        let mut state = self.own.state();
        let (number, own) = (state.exchanges, self.own.number);
        state.exchanges += 1;
        state.is_killed |= state.fault == Fault::Death(number + state.calls);
        if state.fault == Fault::Exchange(number) {
            state.failing = Some(own);
        }
        state.threads[own].wait = Wait::Exchange;
        let State { groups, threads, .. } = &mut *state;
        let group = &mut groups[self.group];
        group.messages[self.rank] = Some((what, message));
        if group.messages.iter().all(Option::is_some) {
            group.delivered = Arc::new(group.messages.iter_mut().map(|left| left.take().unwrap()).collect());
            group.ranks.iter().for_each(|&rank| threads[rank].wait = Wait::Nothing);
        }
        self.own.pass(&mut state);
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
        self.own.state().failing.take_if(|rank| *rank == self.own.number).is_some()
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
        // Where nobody is ready, a thread of no schedule may have what one waits for, such as a lock of the standard library.
        let ready = (0..1000).map(|_| self.ready()).find(|ready| !ready.is_empty()).unwrap_or_default();
        let is_end = self.threads.iter().all(|thread| thread.wait == Wait::Over);
        self.turn = (!ready.is_empty()).then(|| ready[self.rng.below(ready.len() as u64) as usize]);
        self.is_stuck |= !self.is_killed && self.turn.is_none() && !is_end;
    }

    /// The threads that may have the turn. If there are none, looks for changes that nobody has told.
    fn ready(&mut self) -> Vec<usize> {
        let is_ready = |thread: &Thread| thread.wait == Wait::Nothing;
        if !self.is_killed && !self.threads.iter().any(is_ready) {
            for thread in &mut self.threads {
                if let Wait::Change(place) = thread.wait {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    // SAFETY: the thread that waits there keeps the number.
                    let place = unsafe { AtomicU32::from_ptr(place as *mut u32) };
                    if place.load(Ordering::SeqCst) != thread.expected {
                        thread.wait = Wait::Nothing;
                    }
                }
            }
        }
        (0..self.threads.len()).filter(|&number| is_ready(&self.threads[number])).collect()
    }

    /// At most `most` threads that wait for this need not any more; how many there were.
    fn wake(&mut self, wait: Wait, most: usize) -> usize {
        let waiting = self.threads.iter_mut().filter(|thread| thread.wait == wait);
        waiting.take(most).map(|thread| thread.wait = Wait::Nothing).count()
    }
}

impl Communicator for Scheduled {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.own.state().groups[self.group].ranks.len()
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
        let state = self.own.state();
        let within = |group: usize| {
            let rank = state.groups[group].ranks.iter().position(|number| *number == self.own.number)?;
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

/// Runs a program on nodes with equal numbers of ranks. Tells how each ended, and whether a call failed of a thread that a rank has started.
///
/// # Panics
/// If ranks wait for one another for ever, or one panics.
pub fn run<T: Send>(
    what: &str,
    seed: u64,
    nodes: &[usize],
    fault: Fault,
    program: impl Fn(Scheduled) -> T + Sync,
) -> (Vec<End<T>>, bool) {
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
        calls_in_threads: 0,
        exchanges: 0,
        broken: None,
        failing: None,
        threads: (0..ranks)
            .map(|rank| Thread { rank, wait: Wait::Nothing, expected: 0, handle: None })
            .collect(),
        turn: None,
        failed_in_thread: false,
        groups,
        is_killed: false,
        is_stuck: false,
    };
    let schedule =
        Arc::new(Schedule { what: what.to_owned(), state: Mutex::new(state), changed: Condvar::new() });
    let first = Own { schedule, number: 0 };
    first.state().choose();
    let program = &program;
    let ends = std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..ranks)
            .map(|rank| {
                let own = Own { number: rank, ..first.clone() };
                scope.spawn(move || {
                    own.begin();
                    let comm = Scheduled { own: own.clone(), group: 0, rank };
                    let end = catch_unwind(AssertUnwindSafe(|| program(comm)));
                    OWN.set(None);
                    let mut state = own.state();
                    let end = match end {
                        Ok(end) => End::Returned(end),
                        Err(panic) if panic.is::<Killed>() => End::Killed,
                        Err(panic) => {
                            state.is_killed = true;
                            own.finish_in(&mut state);
                            drop(state);
                            resume_unwind(panic)
                        }
                    };
                    own.finish_in(&mut state);
                    end
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let state = first.state();
    assert!(!state.is_stuck, "{what}: ranks wait for one another for ever");
    (ends, state.failed_in_thread)
}
