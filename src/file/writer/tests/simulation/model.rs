//! A discrete-event model of a parallel file system such as Lustre: nodes with a cache, servers with objects,
//! and locks on extents, which a server can call back. docs/model.md describes what it assumes and what it
//! leaves out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// The machine: times in seconds, rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// The time of a message between a node and a server, one way, including the work of both.
    pub latency: f64,
    /// The rate of a node.
    pub node_rate: f64,
    /// The rate of one process that copies into the cache of its node.
    pub process_rate: f64,
    /// The number of servers that store objects.
    pub servers: usize,
    pub server_rate: f64,
    /// The cost of a request for a server, besides its bytes.
    pub request: f64,
    /// The most bytes in a request.
    pub request_bytes: u64,
    /// The time that the metadata server needs for a new file, and for opening one.
    pub creation: f64,
    pub opening: f64,
    /// The time of a reduction over all ranks.
    pub reduction: f64,
    /// The largest delay between processes that reach a call.
    pub skew: f64,
}

impl System {
    /// The highest rate at which this number of nodes can write.
    pub fn peak(&self, nodes: usize) -> f64 {
        (nodes as f64 * self.node_rate).min(self.servers as f64 * self.server_rate)
    }
}

/// How a file is divided into objects, each on the next server. The number of the file determines the first one.
#[derive(Clone, Copy, Debug)]
pub struct Striping {
    pub count: u64,
    pub bytes: u64,
    pub has_group_lock: bool,
}

/// A write of a process, which executes one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub node: usize,
    pub file: usize,
    pub offset: u64,
    pub bytes: u64,
    /// The time that the process spends before, in seconds.
    pub pause: f64,
}

/// Counts, and the time until everything is on the servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub seconds: f64,
    pub bytes: u64,
    pub requests: u64,
    pub locks: u64,
    pub callbacks: u64,
}

/// An object of a file, by its number in the file.
type Object = (usize, u64);
/// Nanoseconds.
type Time = u64;

fn nanoseconds(seconds: f64) -> Time {
    Duration::from_secs_f64(seconds).as_nanos() as Time
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A process continues.
    Step(usize),
    /// It has copied the next bytes into the cache.
    Copied(usize, u64),
    /// It requests a lock, at the server.
    Asked(usize),
    /// It has received one, at the node: its number and extent.
    Granted(usize, u64, u64, u64),
    /// The server asks the node for its lock.
    CalledBack(usize, Object, u64),
    /// The server gets the lock back.
    Returned(Object, u64),
    /// Bytes arrive at the server, under a lock of a node.
    Arrived(usize, Object, u64, u64),
    /// The node learns that they are stored.
    Stored(usize, Object, u64),
}

/// A lock at the server, which knows where it begins.
struct Lock {
    number: u64,
    node: usize,
    end: u64,
    is_called: bool,
}

#[derive(Default)]
struct Locks {
    /// They do not overlap.
    granted: BTreeMap<u64, Lock>,
    /// Processes, in their order.
    waiting: VecDeque<usize>,
}

/// A lock at the node.
struct NodeLock {
    number: u64,
    extent: Range<u64>,
    /// The number of processes that copy, and of requests that are being sent.
    uses: u32,
    is_called: bool,
}

/// What a node has of an object.
#[derive(Default)]
struct Cache {
    held: Vec<NodeLock>,
    /// What is not being sent yet: beginnings and ends.
    dirty: BTreeMap<u64, u64>,
}

struct Model<'a> {
    system: &'a System,
    striping: Striping,
    processes: &'a [Vec<Write>],
    /// For each process: its current write, and how much of that is done.
    places: Vec<(usize, u64)>,
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    /// When the link of a node, and a server, become free.
    nodes: Vec<Time>,
    servers: Vec<Time>,
    /// The writes of each node that are still to come.
    left: Vec<usize>,
    locks: HashMap<Object, Locks>,
    caches: HashMap<(usize, Object), Cache>,
    next: u64,
    outcome: Outcome,
}

/// Executes the writes of all processes. The first ones begin after `start` seconds, each of the others
/// `apart` later than the previous one.
pub fn run(
    system: &System,
    striping: Striping,
    processes: &[Vec<Write>],
    (start, apart): (f64, f64),
) -> Outcome {
    let nodes = processes.iter().flatten().map(|write| write.node + 1).max().unwrap_or(0);
    let mut left = vec![0; nodes];
    processes.iter().flatten().for_each(|write| left[write.node] += 1);
    let mut model = Model {
        system,
        striping,
        processes,
        places: vec![(0, 0); processes.len()],
        now: 0,
        events: BinaryHeap::new(),
        nodes: vec![0; nodes],
        servers: vec![0; system.servers],
        left,
        locks: HashMap::new(),
        caches: HashMap::new(),
        next: 1,
        outcome: Outcome::default(),
    };
    for (process, writes) in processes.iter().enumerate() {
        if let Some(write) = writes.first() {
            // Pseudo-random, but the same each time.
            let part = (process as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            let skew = system.skew * part as f64 / f64::from(1 << 24);
            let begin = start + apart * process as f64 + skew + write.pause;
            model.after(begin, Event::Step(process));
        }
    }
    while let Some(Reverse((time, _, event))) = model.events.pop() {
        model.now = time;
        model.execute(event);
    }
    assert!(model.left.iter().all(|&writes| writes == 0), "a process waits forever");
    model.outcome.seconds = model.now as f64 / 1e9;
    model.outcome
}

impl Model<'_> {
    fn after(&mut self, seconds: f64, event: Event) {
        self.at(self.now + nanoseconds(seconds), event);
    }

    fn at(&mut self, time: Time, event: Event) {
        self.next += 1;
        self.events.push(Reverse((time, self.next, event)));
    }

    /// What a process writes next: its node, the object, and the extent there, within a stripe.
    fn current(&self, process: usize) -> (usize, Object, Range<u64>) {
        let (write, done) = self.places[process];
        let Write { node, file, offset, bytes, .. } = self.processes[process][write];
        let Striping { count, bytes: stripe, .. } = self.striping;
        let at = offset + done;
        let (number, within) = (at / stripe, at % stripe);
        let begin = number / count * stripe + within;
        (node, (file, number % count), begin..begin + (bytes - done).min(stripe - within))
    }

    fn execute(&mut self, event: Event) {
        match event {
            Event::Step(process) => self.step(process),
            Event::Copied(process, lock) => self.copied(process, lock),
            Event::Asked(process) => {
                let (_, object, _) = self.current(process);
                self.outcome.locks += 1;
                self.locks.entry(object).or_default().waiting.push_back(process);
                self.grant(object);
            }
            Event::Granted(process, number, begin, end) => {
                let (node, object, _) = self.current(process);
                // Another process of the node may have requested the same.
                if self.held(node, object, number).is_none() {
                    let held = NodeLock { number, extent: begin..end, uses: 0, is_called: false };
                    self.caches.entry((node, object)).or_default().held.push(held);
                }
                self.copy(process, number);
            }
            Event::CalledBack(node, object, lock) => {
                if let Some(held) = self.held(node, object, lock) {
                    held.is_called = true;
                    self.give_back(node, object, lock);
                }
            }
            Event::Returned(object, lock) => {
                let locks = self.locks.entry(object).or_default();
                locks.granted.retain(|_, granted| granted.number != lock);
                self.grant(object);
            }
            Event::Arrived(node, object, lock, bytes) => {
                let server = (object.0 + object.1 as usize) % self.system.servers;
                let begin = self.servers[server].max(self.now);
                let time = self.system.request + bytes as f64 / self.system.server_rate;
                self.servers[server] = begin + nanoseconds(time);
                let known = self.servers[server] + nanoseconds(self.system.latency);
                self.at(known, Event::Stored(node, object, lock));
            }
            Event::Stored(node, object, lock) => {
                self.release(node, object, lock);
            }
        }
    }

    fn held(&mut self, node: usize, object: Object, lock: u64) -> Option<&mut NodeLock> {
        self.caches.entry((node, object)).or_default().held.iter_mut().find(|held| held.number == lock)
    }

    fn step(&mut self, process: usize) {
        let (node, object, extent) = self.current(process);
        let cache = self.caches.entry((node, object)).or_default();
        if self.striping.has_group_lock && cache.held.is_empty() {
            cache.held.push(NodeLock { number: 0, extent: 0..u64::MAX, uses: 0, is_called: false });
        }
        let covers = |held: &&NodeLock| {
            !held.is_called && held.extent.start <= extent.start && extent.end <= held.extent.end
        };
        match cache.held.iter().find(covers).map(|held| held.number) {
            Some(lock) => self.copy(process, lock),
            None => self.after(self.system.latency, Event::Asked(process)),
        }
    }

    fn copy(&mut self, process: usize, lock: u64) {
        let (node, object, extent) = self.current(process);
        if let Some(held) = self.held(node, object, lock) {
            held.uses += 1;
        }
        let time = (extent.end - extent.start) as f64 / self.system.process_rate;
        self.after(time, Event::Copied(process, lock));
    }

    fn copied(&mut self, process: usize, lock: u64) {
        let (node, object, extent) = self.current(process);
        self.outcome.bytes += extent.end - extent.start;
        let cache = self.caches.entry((node, object)).or_default();
        let (mut begin, mut end) = (extent.start, extent.end);
        if let Some((&first, &last)) = cache.dirty.range(..=begin).next_back()
            && last >= begin
        {
            (begin, end) = (first, end.max(last));
        }
        while let Some((&first, &last)) = cache.dirty.range(begin..=end).next() {
            cache.dirty.remove(&first);
            end = end.max(last);
        }
        cache.dirty.insert(begin, end);
        // Full requests are sent at once.
        let most = self.system.request_bytes;
        let full = begin.next_multiple_of(most)..end / most * most;
        if full.start < full.end {
            self.send(node, object, lock, full);
        }
        self.release(node, object, lock);
        let (write, done) = &mut self.places[process];
        *done += extent.end - extent.start;
        let writes = &self.processes[process];
        let mut pause = 0.0;
        if *done == writes[*write].bytes {
            (*write, *done) = (*write + 1, 0);
            pause = writes.get(*write).map_or(0.0, |write| write.pause);
            self.left[node] -= 1;
        }
        if self.places[process].0 < writes.len() {
            self.after(pause, Event::Step(process));
        }
        if self.left[node] == 0 {
            // The file is closed.
            let mut objects: Vec<Object> =
                self.caches.keys().filter(|(other, _)| *other == node).map(|(_, object)| *object).collect();
            objects.sort_unstable();
            for object in objects {
                let numbers: Vec<u64> =
                    self.caches[&(node, object)].held.iter().map(|held| held.number).collect();
                numbers.into_iter().for_each(|lock| self.flush(node, object, lock));
            }
        }
    }

    /// Sends what is dirty in this extent, in requests that end at multiples of their maximum size.
    fn send(&mut self, node: usize, object: Object, lock: u64, extent: Range<u64>) {
        let cache = self.caches.entry((node, object)).or_default();
        let before = cache.dirty.range(..extent.start).next_back().map(|(&begin, &end)| (begin, end));
        let mut parts: Vec<(u64, u64)> = before.into_iter().filter(|(_, end)| *end > extent.start).collect();
        parts.extend(cache.dirty.range(extent.clone()).map(|(&begin, &end)| (begin, end)));
        for (begin, end) in parts {
            cache.dirty.remove(&begin);
            if begin < extent.start {
                cache.dirty.insert(begin, extent.start);
            }
            if end > extent.end {
                cache.dirty.insert(extent.end, end);
            }
            let (mut at, end) = (begin.max(extent.start), end.min(extent.end));
            while at < end {
                let to = end.min((at / self.system.request_bytes + 1) * self.system.request_bytes);
                if let Some(held) = cache.held.iter_mut().find(|held| held.number == lock) {
                    held.uses += 1;
                }
                let link = &mut self.nodes[node];
                *link = (*link).max(self.now) + nanoseconds((to - at) as f64 / self.system.node_rate);
                let there = *link + nanoseconds(self.system.latency);
                self.next += 1;
                self.events.push(Reverse((there, self.next, Event::Arrived(node, object, lock, to - at))));
                self.outcome.requests += 1;
                at = to;
            }
        }
    }

    fn flush(&mut self, node: usize, object: Object, lock: u64) {
        if let Some(extent) = self.held(node, object, lock).map(|held| held.extent.clone()) {
            self.send(node, object, lock, extent);
        }
    }

    fn release(&mut self, node: usize, object: Object, lock: u64) {
        if let Some(held) = self.held(node, object, lock) {
            held.uses -= 1;
            self.give_back(node, object, lock);
        }
    }

    /// Returns a lock that was called back, once nothing uses it.
    fn give_back(&mut self, node: usize, object: Object, lock: u64) {
        let is_ready = |model: &mut Self| {
            model.held(node, object, lock).is_some_and(|held| held.is_called && held.uses == 0)
        };
        if is_ready(self) {
            self.flush(node, object, lock);
        }
        if is_ready(self) {
            self.caches.entry((node, object)).or_default().held.retain(|held| held.number != lock);
            self.after(self.system.latency, Event::Returned(object, lock));
        }
    }

    /// Grants locks to waiting processes in their order; each gets everything that nobody has.
    fn grant(&mut self, object: Object) {
        while let Some(&process) = self.locks.get(&object).and_then(|locks| locks.waiting.front()) {
            let (node, _, extent) = self.current(process);
            let (mut lowest, mut highest) = (0, u64::MAX);
            let Some(locks) = self.locks.get_mut(&object) else { return };
            let first =
                locks.granted.range(..=extent.start).next_back().map_or(extent.start, |(&begin, _)| begin);
            let (mut granted, mut called, mut is_free) = (None, Vec::new(), true);
            for (&begin, lock) in locks.granted.range_mut(first..extent.end) {
                if lock.end <= extent.start {
                    lowest = lowest.max(lock.end);
                } else if lock.node == node
                    && begin <= extent.start
                    && extent.end <= lock.end
                    && !lock.is_called
                {
                    granted = Some((lock.number, begin, lock.end));
                } else {
                    is_free = false;
                    if !std::mem::replace(&mut lock.is_called, true) {
                        called.push((lock.node, lock.number));
                    }
                }
            }
            if granted.is_none() && is_free {
                highest = locks
                    .granted
                    .range(extent.end..)
                    .next()
                    .map_or(highest, |(&begin, _)| highest.min(begin));
                self.next += 1;
                let lock = Lock { number: self.next, node, end: highest, is_called: false };
                granted = Some((lock.number, lowest, highest));
                locks.granted.insert(lowest, lock);
            }
            if let Some((number, begin, end)) = granted {
                locks.waiting.pop_front();
                self.after(self.system.latency, Event::Granted(process, number, begin, end));
            }
            for (node, number) in called {
                self.outcome.callbacks += 1;
                self.after(self.system.latency, Event::CalledBack(node, object, number));
            }
            if granted.is_none() {
                return;
            }
        }
    }
}
