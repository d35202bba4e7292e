//! Commit, append, completion of what is in the background, and agreement, as docs/design.md describes them, without the bytes.
//!
//! Three ranks write a file of up to three steps, each committed. Each rank writes its part of the data; rank 0 the header
//! of the section, the index and the seal. A place of the file has what is in stable storage, and what was written and not
//! synced. One call may fail. At any moment the job may be killed, or power be lost: then any part of what was not synced is
//! there. A second job appends, after the last seal, an earlier one, or a record within a step, and may be killed, too. Each
//! commit has a view of HDF5, which the superblock leads to.

use super::search::Model;

pub const RANKS: usize = 3;
const STEPS: usize = 3;
/// The places of a step: the data of each rank, then what rank 0 writes.
const HEADER: usize = RANKS;
const INDEX: usize = RANKS + 1;
const SEAL: usize = RANKS + 2;
const PLACES: usize = RANKS + 3;
/// Whoever wrote what a killed job has left: each sync covers it.
const ANYBODY: usize = RANKS;

/// What one job does, rank by rank. In brackets: where it is in the library.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    /// Rank 0 leads HDF5 to what stays, if seals are given up (`renew_superblock`).
    Renew,
    /// Rank 0 writes, after everything, that the file is to be cut, if that gives up seals (`note_truncation`).
    Note,
    /// Rank 0 writes, after everything, the tables and the seal that the sections get that stay of a step (`roll_back`).
    Block,
    /// Rank 0 writes them over what goes of the step (`complete`).
    Copy,
    /// Rank 0 removes what follows the seal to append to (`Writer::append`).
    Cut,
    /// Copies data for the thread, or writes them (`Queue::write_by`).
    Data,
    /// Waits for the thread (`Queue::settle`).
    Settle,
    /// All ranks meet; an error of one is an error of all (`Team::agree`).
    Agree,
    /// Rank 0 writes it (`Held`, `Sealer::seal`).
    Write(usize),
    /// What this rank has written is in stable storage then, and a cut before that (`ParallelFile::sync`).
    Sync,
    /// Rank 0 leads HDF5 to what is sealed by now (`Sections::write_superblock`).
    Superblock,
    /// The program is told that the commit is durable.
    Return,
}

/// A mistake that must be found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mistake {
    None,
    SealBeforeSync,
    SealWithoutAgreement,
    OnlyRank0Syncs,
    ReturnBeforeSync,
    ReturnWithoutAgreement,
    HeaderBeforeData,
    ThreadNotWaitedFor,
    CutNotNoted,
    NoteNotSynced,
    CutWithoutAgreement,
    ErrorForgotten,
    ErrorReturnedAtOnce,
    SuperblockBeforeSync,
    SuperblockNotRenewed,
    SuperblockRenewedWithoutSync,
    BlockNotSynced,
    CopyNotNoted,
    CopyNotSynced,
}

impl Mistake {
    pub const ALL: [Self; 18] = [
        Self::SealBeforeSync,
        Self::SealWithoutAgreement,
        Self::OnlyRank0Syncs,
        Self::ReturnBeforeSync,
        Self::ReturnWithoutAgreement,
        Self::HeaderBeforeData,
        Self::ThreadNotWaitedFor,
        Self::CutNotNoted,
        Self::NoteNotSynced,
        Self::CutWithoutAgreement,
        Self::ErrorForgotten,
        Self::ErrorReturnedAtOnce,
        Self::SuperblockBeforeSync,
        Self::SuperblockNotRenewed,
        Self::SuperblockRenewedWithoutSync,
        Self::BlockNotSynced,
        Self::CopyNotNoted,
        Self::CopyNotSynced,
    ];
}

/// What was written by a job, 1 or 2; 0 is nothing.
type Content = u8;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Place {
    stable: Content,
    /// What was written and by whom, if that may be lost.
    written: Option<(Content, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Doing {
    /// The next operation of the program.
    Runs,
    /// In an agreement, with an error or not.
    Meets(bool),
    /// Has returned an error.
    Failed,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Rank {
    /// The number of the operation in the program of the job.
    at: usize,
    doing: Doing,
    /// An error that the next agreement tells.
    error: bool,
    /// The thread has something to write.
    queued: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    job: u8,
    /// The first step of the job.
    first: usize,
    ranks: [Rank; RANKS],
    file: [[Place; PLACES]; STEPS],
    /// The steps that HDF5 is led to, and the job that wrote the last of them: see [`superblock`].
    superblock: Place,
    /// The file was cut here, and that may be lost.
    cut: Option<usize>,
    /// The job gives up steps that are sealed.
    gives_up: bool,
    /// It keeps a part of its first step, of which the data and the header stand for all that stays.
    keeps_part: bool,
    /// The tables and the seal of that part, after everything.
    block: Place,
    /// It was written that the file is to be cut; and that this is in stable storage.
    noted: Option<bool>,
    /// The steps that a program was told to be durable, by the job that wrote them.
    durable: [Content; STEPS],
    /// How many calls may fail.
    failures: u8,
    /// What the file has, the superblock, and the step of which a part stays, when the job has been killed or power was lost.
    crashed: Option<([[Content; PLACES]; STEPS], Content, Option<usize>)>,
}

pub struct Protocol {
    program: Vec<Op>,
    /// Of a job that appends after a seal, and of one that appends within a step.
    prologues: [Vec<Op>; 2],
    mistake: Mistake,
    background: bool,
}

impl Protocol {
    pub fn new(background: bool, mistake: Mistake) -> Self {
        use Op::*;
        let mut program = vec![Data];
        program.extend(if background && mistake != Mistake::ThreadNotWaitedFor {
            vec![Settle]
        } else {
            vec![]
        });
        program.extend([
            Agree,
            Write(HEADER),
            Agree,
            Write(INDEX),
            Agree,
            Sync,
            Agree,
            Write(SEAL),
            Agree,
            Sync,
            Agree,
            Superblock,
            Agree,
            Sync,
            Agree,
            Return,
        ]);
        let mut prologue = vec![Renew, Agree, Sync, Agree, Note, Agree, Sync, Agree, Cut, Agree, Sync, Agree];
        let mut within = vec![Renew, Agree, Sync, Agree, Block, Agree, Sync, Agree, Note, Agree, Sync, Agree];
        within.extend([Copy, Agree, Sync, Agree, Cut, Agree, Sync, Agree, Return]);
        let seal = program.iter().position(|op| *op == Write(SEAL)).unwrap();
        match mistake {
            Mistake::SealBeforeSync => drop(program.drain(seal - 2..seal)),
            Mistake::SealWithoutAgreement => drop(program.remove(seal - 1)),
            Mistake::ReturnBeforeSync => drop(program.drain(seal + 2..seal + 4)),
            Mistake::ReturnWithoutAgreement => drop(program.splice(seal + 3.., [Superblock, Sync, Return])),
            Mistake::HeaderBeforeData => program[..=seal - 8].rotate_right(1),
            Mistake::CutNotNoted => drop(prologue.drain(4..8)),
            Mistake::NoteNotSynced => drop(prologue.drain(6..8)),
            Mistake::CutWithoutAgreement => drop(prologue.splice(9.., [Sync])),
            Mistake::SuperblockBeforeSync => program[seal + 2..=seal + 4].rotate_right(1),
            Mistake::SuperblockNotRenewed => drop(prologue.drain(..4)),
            Mistake::SuperblockRenewedWithoutSync => drop(prologue.drain(2..4)),
            Mistake::BlockNotSynced => drop(within.drain(6..8)),
            Mistake::CopyNotNoted => drop(within.drain(8..12)),
            Mistake::CopyNotSynced => drop(within.drain(14..16)),
            _ => {}
        }
        Self { program, prologues: [prologue, within], mistake, background }
    }

    /// What a job does before its first step.
    fn prologue(&self, state: &State) -> &[Op] {
        if state.job == 1 { &[] } else { &self.prologues[usize::from(state.keeps_part)] }
    }

    /// The operation of a rank, and its step; none at the end of the program.
    fn op(&self, state: &State, rank: usize) -> Option<(Op, usize)> {
        let prologue = self.prologue(state);
        let at = state.ranks[rank].at;
        if let Some(op) = prologue.get(at) {
            return Some((*op, state.first));
        }
        let at = at - prologue.len();
        let step = state.begins() + at / self.program.len();
        (step < STEPS).then(|| (self.program[at % self.program.len()], step))
    }

    /// What happens if a rank does the next thing, or its thread.
    fn do_next(&self, state: &State, rank: usize, add: &mut dyn FnMut(String, State)) {
        let mine = &state.ranks[rank];
        let Some((op, step)) = self.op(state, rank).filter(|_| mine.doing == Doing::Runs) else { return };
        let is_first = rank == 0;
        let job = state.job;
        let mut next = state.clone();
        next.ranks[rank].at += 1;
        // A call of the system; it may fail.
        let mut call = |done: &dyn Fn(&mut State)| {
            let mut good = next.clone();
            // After an error, a rank does nothing more until it is told.
            if !mine.error {
                done(&mut good);
            }
            add(format!("rank {rank}: {op:?} of step {step}"), good);
            if state.failures > 0 && !mine.error {
                let mut bad = next.clone();
                bad.failures -= 1;
                bad.fail(rank, self.mistake);
                add(format!("rank {rank}: {op:?} of step {step} fails"), bad);
            }
        };
        match op {
            Op::Data if self.background => {
                next.ranks[rank].queued = true;
                add(format!("rank {rank}: copies data of step {step}"), next);
            }
            Op::Data => call(&|state| state.file[step][rank].written = Some((job, rank))),
            Op::Settle if mine.queued => {}
            Op::Settle => add(format!("rank {rank}: has settled"), next),
            Op::Agree => {
                next.ranks[rank].at -= 1;
                next.ranks[rank].doing = Doing::Meets(mine.error);
                add(format!("rank {rank}: agrees"), next);
            }
            Op::Write(place) if is_first => call(&|state| state.file[step][place].written = Some((job, 0))),
            Op::Block if is_first => call(&|state| state.block.written = Some((job, 0))),
            Op::Copy if is_first => call(&|state| {
                for place in [INDEX, SEAL] {
                    state.file[step][place].written = Some((job, 0));
                }
            }),
            Op::Note if is_first && state.gives_up => call(&|state| state.noted = Some(false)),
            Op::Cut if is_first => call(&|state| {
                // What a killed job has left there may have come to the disk before.
                let step = state.begins();
                for place in state.file[step..].as_flattened_mut() {
                    *place = Place { stable: place.seen(false), written: None };
                }
                state.cut = Some(step);
            }),
            Op::Superblock if is_first => {
                call(&|state| state.superblock.written = Some((superblock(step + 1, job), 0)));
            }
            Op::Renew if is_first && state.gives_up => call(&|state| {
                let last =
                    step.checked_sub(1).map(|last| superblock(step, state.file[last][SEAL].seen(false)));
                state.superblock.written = Some((last.unwrap_or(0), 0));
            }),
            Op::Write(_) | Op::Superblock | Op::Renew | Op::Note | Op::Cut | Op::Block | Op::Copy => {
                add(format!("rank {rank}: goes on"), next)
            }
            Op::Sync if self.mistake == Mistake::OnlyRank0Syncs && !is_first => {
                add(format!("rank {rank}: goes on"), next);
            }
            Op::Sync => call(&|state| {
                if rank == 0 && state.noted.is_some() {
                    state.noted = Some(true);
                }
                if let Some(cut) = state.cut.take() {
                    state.noted = None;
                    state.file[cut..].as_flattened_mut().iter_mut().for_each(|place| place.stable = 0);
                }
                let others = [&mut state.superblock, &mut state.block];
                for place in state.file.as_flattened_mut().iter_mut().chain(others) {
                    if let Some((content, who)) = place.written
                        && [rank, ANYBODY].contains(&who)
                    {
                        *place = Place { stable: content, written: None };
                    }
                }
            }),
            Op::Return => {
                next.durable[step] = job;
                add(format!("rank {rank}: step {step} is durable"), next);
            }
        }
    }

    fn thread(&self, state: &State, rank: usize, add: &mut dyn FnMut(String, State)) {
        if !state.ranks[rank].queued {
            return;
        }
        let step = self.step_of_data(state, rank);
        for fails in [false, true] {
            let mut next = state.clone();
            next.ranks[rank].queued = false;
            if !fails {
                next.file[step][rank].written = Some((state.job, rank));
            } else if state.failures > 0 {
                next.failures -= 1;
                next.fail(rank, self.mistake);
            } else {
                continue;
            }
            add(
                format!("thread of rank {rank}: data of step {step}{}", if fails { " fail" } else { "" }),
                next,
            );
        }
    }

    /// The step whose data a rank has copied last.
    fn step_of_data(&self, state: &State, rank: usize) -> usize {
        let prologue = self.prologue(state).len();
        state.begins() + (state.ranks[rank].at - prologue).saturating_sub(1) / self.program.len()
    }

    /// All ranks are in the same agreement.
    fn agreement(&self, state: &State, add: &mut dyn FnMut(String, State)) {
        let errors = state.ranks.iter().map(|rank| match rank.doing {
            Doing::Meets(error) => Some(error),
            _ => None,
        });
        let Some(errors) = errors.collect::<Option<Vec<_>>>() else { return };
        if state.ranks.iter().any(|rank| rank.at != state.ranks[0].at) {
            return;
        }
        let mut next = state.clone();
        let error = errors.contains(&true);
        for rank in &mut next.ranks {
            rank.at += 1;
            rank.doing = if error { Doing::Failed } else { Doing::Runs };
        }
        add(format!("agreement: {}", if error { "an error" } else { "all is well" }), next);
    }

    /// The next job, on any of the disks that may be left; after any seal.
    fn crash(&self, state: &State, add: &mut dyn FnMut(String, State)) {
        let places = state.file.as_flattened();
        let open: Vec<usize> = (0..places.len()).filter(|at| places[*at].written.is_some()).collect();
        // The page of the cut, with zeros after it, may come to the disk before the new length.
        let zeros = if state.cut.is_some() { PLACES } else { 0 };
        let states = (0..2_u32 << open.len()).flat_map(|kept| (0..=zeros).map(move |zeros| (kept, zeros)));
        for (kept, zeros) in states {
            let mut left = state.clone();
            let cut = left.cut.take().filter(|_| kept & 1 == 1).unwrap_or(STEPS);
            if cut == STEPS {
                let page =
                    state.cut.map_or(0..0, |cut| cut * PLACES..(cut * PLACES + zeros).min(STEPS * PLACES));
                left.file.as_flattened_mut()[page].iter_mut().for_each(|place| place.stable = 0);
            }
            // If its length is what it was before, the note is at its end, unless that has not come to the disk.
            let noted = left.noted.filter(|is_stable| cut == STEPS && (*is_stable || kept & 1 == 1));
            left.noted = noted.map(|_| true);
            for (at, place) in left.file.as_flattened_mut().iter_mut().enumerate() {
                let bit = open.iter().position(|open| *open == at);
                let is_kept = bit.is_some_and(|bit| kept >> (bit + 1) & 1 == 1);
                let stable = if is_kept {
                    place.seen(false)
                } else if at / PLACES >= cut {
                    0
                } else {
                    place.stable
                };
                *place = Place { stable, written: None };
            }
            // The superblock is there, is not, or is torn.
            let Place { stable, written } = left.superblock;
            let torn = written.map(|_| 0);
            let mut values = vec![stable];
            values.extend(written.map(|(content, _)| content).into_iter().chain(torn));
            let blocks = [Some(left.block.stable), left.block.written.map(|(content, _)| content)];
            for (stable, block) in values
                .iter()
                .flat_map(|stable| blocks.into_iter().flatten().map(move |block| (*stable, block)))
            {
                left.superblock = Place { stable, written: None };
                left.block = Place { stable: block, written: None };
                self.append_to("power is lost", &left, add);
            }
        }
        // The system goes on: what was written is there, and still not synced.
        let mut left = state.clone();
        let others = [&mut left.superblock, &mut left.block];
        for place in left.file.as_flattened_mut().iter_mut().chain(others) {
            place.written = place.written.map(|(content, _)| (content, ANYBODY));
        }
        self.append_to("killed", &left, add);
    }

    fn append_to(&self, what: &str, left: &State, add: &mut dyn FnMut(String, State)) {
        let seen = left.seen();
        let mut found = left.clone();
        found.crashed = Some((seen, left.superblock.seen(false), left.keeps_part.then_some(left.first)));
        (found.ranks, found.file, found.superblock) =
            ([BEGINNING; RANKS], Default::default(), Place::default());
        found.cut = None;
        add(what.into(), found);
        if left.job == 1 && wrong(&seen, &left.durable, None).is_none() {
            for (first, keeps_part) in (0..=sealed(&seen)).flat_map(|first| [(first, false), (first, true)]) {
                let mut next = left.clone();
                (next.job, next.first, next.ranks) = (2, first, [BEGINNING; RANKS]);
                next.gives_up = first < sealed(&seen);
                next.keeps_part = keeps_part;
                // Only of a step that is sealed can a part stay.
                if keeps_part && !next.gives_up {
                    continue;
                }
                // Whoever goes back gives up what was after.
                next.durable[first..].fill(0);
                let part = if keeps_part { " and a part of the next" } else { "" };
                add(format!("{what}; a job appends after {first} steps{part}"), next);
            }
        }
    }
}

const BEGINNING: Rank = Rank { at: 0, doing: Doing::Runs, error: false, queued: false };

impl Place {
    /// What a reader sees.
    fn seen(self, is_cut_off: bool) -> Content {
        let stable = if is_cut_off { 0 } else { self.stable };
        self.written.map_or(stable, |(content, _)| content)
    }
}

impl State {
    /// The first step that the job writes.
    fn begins(&self) -> usize {
        self.first + usize::from(self.keeps_part)
    }

    fn seen(&self) -> [[Content; PLACES]; STEPS] {
        let cut = self.cut.unwrap_or(STEPS);
        // Whoever finds the note takes nothing after the cut for there, before the file is cut.
        let end = self.noted.filter(|_| self.cut.is_none()).map_or(STEPS, |_| self.first);
        std::array::from_fn(|step| {
            self.file[step].map(|place| if step < end { place.seen(step >= cut) } else { 0 })
        })
    }

    fn fail(&mut self, rank: usize, mistake: Mistake) {
        match mistake {
            Mistake::ErrorForgotten => {}
            Mistake::ErrorReturnedAtOnce => self.ranks[rank].doing = Doing::Failed,
            _ => self.ranks[rank].error = true,
        }
    }
}

/// The superblock that leads to so many steps, of which this job has written the last one.
fn superblock(steps: usize, job: Content) -> Content {
    4 * Content::try_from(steps).unwrap() + job
}

/// How many steps a reader sees: those before the last seal to which all seals before it lead.
fn sealed(seen: &[[Content; PLACES]; STEPS]) -> usize {
    seen.iter().take_while(|step| step[SEAL] != 0).count()
}

/// What is wrong with a file that has this, when these steps were told to be durable. Of step `part`, the second job may have kept what the
/// first one has written before its index.
fn wrong(
    seen: &[[Content; PLACES]; STEPS],
    durable: &[Content; STEPS],
    part: Option<usize>,
) -> Option<String> {
    let steps = sealed(seen);
    for (number, (step, durable)) in seen.iter().zip(durable).enumerate() {
        if *durable != 0 && (number >= steps || step[SEAL] != *durable) {
            return Some(format!("step {number} was durable and is lost"));
        }
        let data = if part == Some(number) { 1 } else { step[SEAL] };
        let (of_data, rest) = step.split_at(INDEX);
        let is_whole = of_data.iter().all(|content| *content == data)
            && rest.iter().all(|content| *content == step[SEAL]);
        if number < steps && !is_whole {
            return Some(format!("step {number} is sealed, and not what was written"));
        }
    }
    None
}

impl Model for Protocol {
    type State = State;

    fn initial(&self) -> State {
        State {
            job: 1,
            first: 0,
            ranks: [BEGINNING; RANKS],
            file: [[Place::default(); PLACES]; STEPS],
            superblock: Place::default(),
            cut: None,
            gives_up: false,
            keeps_part: false,
            block: Place::default(),
            noted: None,
            durable: [0; STEPS],
            failures: 1,
            crashed: None,
        }
    }

    fn next(&self, state: &State, add: &mut dyn FnMut(String, State)) {
        if state.crashed.is_some() {
            return;
        }
        for rank in 0..RANKS {
            self.do_next(state, rank, add);
            self.thread(state, rank, add);
        }
        self.agreement(state, add);
    }

    fn interrupt(&self, state: &State, add: &mut dyn FnMut(String, State)) {
        if state.crashed.is_none() {
            self.crash(state, add);
        }
    }

    fn is_end(&self, state: &State) -> bool {
        let is_over =
            |rank: usize| state.ranks[rank].doing == Doing::Failed || self.op(state, rank).is_none();
        state.crashed.is_some() || (0..RANKS).all(is_over)
    }

    fn fault(&self, state: &State) -> Option<String> {
        let Some((seen, shown, part)) = &state.crashed else {
            let failed = (0..RANKS).filter(|rank| state.ranks[*rank].doing == Doing::Failed).count();
            // In the file of a job that is killed, a header says that its data are there.
            let half = state.seen().iter().any(|step| {
                step[HEADER] == state.job && step[..RANKS].iter().any(|content| *content != state.job)
            });
            return match () {
                () if half => Some("a header stands in the file without its data".into()),
                () if failed > 0 && self.is_end(state) && failed < RANKS => Some("ranks disagree".into()),
                () => None,
            };
        };
        let (steps, job) = (usize::from(shown / 4), shown % 4);
        let is_wrong = steps > sealed(seen) || steps > 0 && seen[steps - 1][SEAL] != job;
        let led = is_wrong.then(|| "HDF5 is led to what is not sealed".to_owned());
        // The next job completes what a note announces.
        let lacks_block = part.is_some() && state.noted.is_some() && state.block.seen(false) != state.job;
        let lacks = lacks_block.then(|| "a note stands in the file without its seal".to_owned());
        led.or(lacks).or_else(|| wrong(seen, &state.durable, *part))
    }
}
