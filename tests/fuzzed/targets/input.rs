//! An input as a source of choices: numbers, data, settings, what a file holds.

use crate::common::{Data, Model, ModelSection, Rng, options};
use scda::{Encode, Encoder, LineBreak, Tuning, WriteOptions};

/// Takes an input apart; when it is used up, everything is zero.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number below `n`, which is at most 65536.
    pub fn below(&mut self, n: usize) -> usize {
        let high = if n > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (high | usize::from(self.byte())) % n
    }

    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn word(&mut self) -> u64 {
        self.take(8).iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    /// `n` bytes: of the input, or made up so that few of it become many that compress more or less.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        match self.below(5) {
            0 => vec![self.byte(); n],
            1 => Rng(self.word()).bytes(n),
            2 => {
                let period = 1 + self.below(300);
                let pattern = Rng(self.word()).bytes(period);
                pattern.iter().copied().cycle().take(n).collect()
            }
            _ => {
                let mut bytes = self.take(n).to_vec();
                bytes.resize(n, b'\n');
                bytes
            }
        }
    }

    /// How many bytes: mostly few.
    pub fn length(&mut self) -> usize {
        match self.below(16) {
            15 => self.below(65536) * 2,
            12..=14 => self.below(4000),
            9..=11 => 57 * self.below(60),
            _ => self.below(100),
        }
    }

    pub fn params(&mut self) -> WriteOptions {
        let mut params: WriteOptions = options();
        params.line_break = [LineBreak::Unix, LineBreak::Mime][self.below(2)];
        params.encoder = [Encoder::Fast, Encoder::Zlib][self.below(2)];
        params.level = self.below(10) as u32;
        params.tuning.threads = 1 + self.below(3);
        self.access(&mut params.tuning);
        params
    }

    /// What does not concern the bytes.
    pub fn access(&mut self, tuning: &mut Tuning) {
        tuning.aggregation_bytes = [4 << 20, 0, 300, 9000, 40_000, 300_000][self.below(6)];
        tuning.check = self.below(2) == 0;
    }

    pub fn model(&mut self) -> Model {
        let n = self.below(59);
        let user = self.take(n).to_vec();
        let mut sections = Vec::new();
        while !self.0.is_empty() && sections.len() < 20 {
            let kind = self.byte();
            // Under Miri there is no library of C to compress with.
            let encode = if cfg!(miri) { 0 } else { kind / 4 % 3 };
            let encode = [Encode::None, Encode::Always, Encode::Auto][usize::from(encode)];
            let n = self.below(59);
            let user = self.take(n).to_vec();
            let data = match kind % 4 {
                0 => Data::Inline(self.bytes(32).try_into().unwrap()),
                1 => {
                    let n = self.length();
                    Data::Block(self.bytes(n))
                }
                2 => {
                    let n = self.below(40);
                    let size = self.length() / n.max(1);
                    Data::Array { size: size as u64, elements: (0..n).map(|_| self.bytes(size)).collect() }
                }
                _ => {
                    let n = self.below(40);
                    let room = 1 + self.length() / n.max(1);
                    let element = |_| {
                        let size = self.below(room);
                        self.bytes(size)
                    };
                    Data::Varray((0..n).map(element).collect())
                }
            };
            let encode = if matches!(data, Data::Inline(_)) { Encode::None } else { encode };
            sections.push(ModelSection { user, data, encode });
        }
        // Memory is shared only when many small sections have waited.
        let times = if user.len() % 4 == 3 { 10 } else { 1 };
        let sections = std::iter::repeat_n(sections, times).flatten().collect();
        Model { vendor: Vec::new(), user, sections }
    }
}

/// A number that any change of the input changes.
pub fn hash(input: &[u8]) -> u64 {
    input.iter().fold(input.len() as u64, |hash, &byte| Rng(hash ^ u64::from(byte)).next())
}
