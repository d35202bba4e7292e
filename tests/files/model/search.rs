//! Goes through all states that a model can reach.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

pub trait Model {
    type State: Clone + Eq + Hash;

    fn initial(&self) -> Self::State;

    /// What may happen next, in words, and the state after it. A state in which nothing can happen must be an end.
    fn next(&self, state: &Self::State, add: &mut dyn FnMut(String, Self::State));

    /// What may happen from outside, in any state: it frees nobody who waits.
    fn interrupt(&self, state: &Self::State, add: &mut dyn FnMut(String, Self::State));

    fn is_end(&self, state: &Self::State) -> bool;

    /// What is wrong with a state.
    fn fault(&self, state: &Self::State) -> Option<String>;
}

/// How many states there are; or what is wrong with one, and one of the shortest ways to it.
pub fn search<M: Model>(model: &M) -> Result<usize, (String, Vec<String>)> {
    let initial = model.initial();
    let mut known = HashMap::from([(initial.clone(), 0_usize)]);
    let mut steps = vec![(0, String::new())]; // for each state: the one before, and what happened there
    let mut waiting = VecDeque::from([(initial, 0)]);
    let way = |steps: &[(usize, String)], mut at: usize| {
        let mut way = Vec::new();
        while at > 0 {
            way.push(steps[at].1.clone());
            at = steps[at].0;
        }
        way.reverse();
        way
    };
    while let Some((state, number)) = waiting.pop_front() {
        if let Some(fault) = model.fault(&state) {
            return Err((fault, way(&steps, number)));
        }
        let (mut is_stuck, mut nexts) = (true, Vec::new());
        model.next(&state, &mut |what, next| {
            is_stuck = false;
            nexts.push((what, next));
        });
        model.interrupt(&state, &mut |what, next| nexts.push((what, next)));
        for (what, next) in nexts {
            if !known.contains_key(&next) {
                known.insert(next.clone(), steps.len());
                waiting.push_back((next, steps.len()));
                steps.push((number, what));
            }
        }
        if is_stuck && !model.is_end(&state) {
            return Err(("ranks wait for ever".into(), way(&steps, number)));
        }
    }
    Ok(known.len())
}
