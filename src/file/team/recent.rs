//! The arguments that a rank has noted since the ranks last agreed, so that a disagreement can be described
//! by the values of two ranks.

use super::topics::{Function, Topic};
use scda_base::calls;
use scda_base::error::quote;

/// The most notes, and bytes of all their values, that are remembered. Then the memory begins anew.
const MOST_NOTES: usize = 64;
const MOST_BYTES: usize = 4096;
/// The most bytes of one text that are remembered.
const TEXT_BYTES: usize = 1024;
/// The bytes by which a rank sends its notes.
pub const SENT_BYTES: usize = 2 * MOST_BYTES;
/// Begins the label of a number that is a hash, and is not shown.
pub const HASHED: char = '#';
/// The most characters of a value in a message.
const SHOWN: usize = 40;

/// What a note has.
#[derive(Clone, Copy)]
enum Kind {
    Numbers,
    Text,
    /// More than is remembered: a hash.
    Hash,
}

/// An argument that was noted.
#[derive(Clone, Copy)]
struct Note {
    topic: Topic,
    kind: Kind,
    /// The names of the numbers, or of the text. May be missing.
    labels: &'static [&'static str],
    /// The function, and its name in the program's language if a binding has said so.
    function: Option<Function>,
    place: Option<&'static str>,
    start: usize,
    end: usize,
}

/// The arguments of the last calls.
pub struct Recent {
    notes: Vec<Note>,
    bytes: Vec<u8>,
    /// How often the memory has begun anew since the ranks last agreed.
    begun: u64,
}

impl Recent {
    pub fn new() -> Self {
        Self { notes: Vec::with_capacity(MOST_NOTES), bytes: Vec::with_capacity(MOST_BYTES), begun: 0 }
    }

    /// Forgets everything: the ranks have agreed.
    pub fn clear(&mut self) {
        self.notes.clear();
        self.bytes.clear();
        self.begun = 0;
    }

    /// Remembers numbers.
    pub fn numbers(
        &mut self,
        topic: Topic,
        function: Option<Function>,
        labels: &'static [&'static str],
        values: &[u64],
    ) {
        self.begin(size_of_val(values));
        values.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
        self.end(topic, Kind::Numbers, function, labels);
    }

    /// Remembers the hash of what is too much.
    pub fn hash(&mut self, topic: Topic, function: Option<Function>, hash: u64) {
        self.begin(size_of_val(&hash));
        self.bytes.extend_from_slice(&hash.to_le_bytes());
        self.end(topic, Kind::Hash, function, &[]);
    }

    /// Remembers the beginning of a text.
    pub fn text(
        &mut self,
        topic: Topic,
        function: Option<Function>,
        labels: &'static [&'static str],
        text: &[u8],
    ) {
        let text = &text[..text.len().min(TEXT_BYTES)];
        self.begin(text.len());
        self.bytes.extend_from_slice(text);
        self.end(topic, Kind::Text, function, labels);
    }

    /// Makes room for a note with this many bytes, within what was allocated.
    fn begin(&mut self, bytes: usize) {
        if self.notes.len() == MOST_NOTES || self.bytes.len() + bytes > MOST_BYTES {
            self.notes.clear();
            self.bytes.clear();
            self.begun += 1;
        }
    }

    fn end(&mut self, topic: Topic, kind: Kind, function: Option<Function>, labels: &'static [&'static str]) {
        let start = self.notes.last().map_or(0, |note| note.end);
        let (end, place) = (self.bytes.len(), calls::place());
        self.notes.push(Note { topic, kind, labels, function, place, start, end });
    }

    /// What this rank has noted on a topic, and the functions that it has called, to be sent to another rank.
    pub fn to_bytes(&self, topic: Topic) -> [u8; SENT_BYTES] {
        let mut sent = [0; SENT_BYTES];
        sent[..8].copy_from_slice(&self.begun.to_le_bytes());
        let mut at = 8;
        for note in self.notes.iter().filter(|note| [topic, Topic::Function].contains(&note.topic)) {
            let (call, value) = (note.call(), &self.bytes[note.start..note.end]);
            let head = [1 + note.kind as u8, note.topic as u8, u8::try_from(call.len()).unwrap_or(0)];
            let length = u16::try_from(value.len()).unwrap_or(0).to_le_bytes();
            let parts = [&head[..], &length, call.as_bytes(), value];
            if at + parts.iter().map(|part| part.len()).sum::<usize>() > SENT_BYTES {
                break;
            }
            for part in parts {
                sent[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
        }
        sent
    }

    /// What this rank, which is rank 0, has passed other than another rank, whose notes are `sent`: the topic
    /// and both values in words. `None` if that is unknown.
    pub fn compare(&self, topic: Topic, other: usize, sent: &[u8; SENT_BYTES]) -> Option<(Topic, String)> {
        let (begun, sent) = sent.split_first_chunk()?;
        if u64::from_le_bytes(*begun) != self.begun {
            return None;
        }
        match self.first_other(topic, sent) {
            Some((mine, Some(theirs))) if topic != Topic::Function => {
                Some((topic, mine.differs(&self.bytes, self.name_before(mine), &theirs, other)))
            }
            // What one rank alone has noted belongs to a call of it alone.
            _ => {
                let (mine, theirs) = self.first_other(Topic::Function, sent)?;
                let words = format!("rank 0 calls {}, rank {other} {}", mine.call(), theirs?.call);
                Some((Topic::Function, words))
            }
        }
    }

    /// The name of the dataset that a note describes: the note before it.
    fn name_before(&self, note: &Note) -> Option<&[u8]> {
        let name = self.notes.iter().take_while(|other| !std::ptr::eq(*other, note)).last()?;
        (note.topic == name.topic && name.labels == ["the name"]).then(|| &self.bytes[name.start..name.end])
    }

    /// The first note on a topic that is another one on the other rank, and that one.
    fn first_other<'a>(&self, topic: Topic, sent: &'a [u8]) -> Option<(&Note, Option<Sent<'a>>)> {
        let mut theirs = AllSent(sent).filter(|theirs| theirs.topic == topic as u8);
        let mut mine = self.notes.iter().filter(|note| note.topic == topic);
        mine.find_map(|mine| {
            let theirs = theirs.next();
            let value = &self.bytes[mine.start..mine.end];
            let is_same = theirs.as_ref().is_some_and(|t| t.kind == mine.kind as u8 && t.value == value);
            (!is_same).then_some((mine, theirs))
        })
    }
}

impl Note {
    /// The name of the function that was called.
    fn call(&self) -> String {
        let place = self.place.and_then(calls::name_of).map(str::to_owned);
        place.or_else(|| Some(self.function?.to_string())).unwrap_or_default()
    }

    /// Both values, in words; `name` is that of the dataset.
    fn differs(&self, bytes: &[u8], name: Option<&[u8]>, theirs: &Sent<'_>, other: usize) -> String {
        let (mine, call) = (&bytes[self.start..self.end], self.call());
        let passed = |what: &str, [mine, theirs]: [String; 2]| {
            format!("rank 0 passes {what}{mine} to {call}, rank {other} {theirs}")
        };
        let others = |what: &str| format!("rank 0 passes {what} to {call} than rank {other}");
        let label = |number: usize| self.labels.get(number).copied().unwrap_or_default();
        let named = |number: usize| match (label(number), name) {
            ("", _) => String::new(),
            (label, Some(name)) => format!("{label} of {}: ", quote(name)),
            (label, None) => format!("{label} "),
        };
        match self.kind {
            _ if self.kind as u8 != theirs.kind => others("other values"),
            Kind::Hash => others("other values"),
            Kind::Text => passed(&named(0), excerpts(mine, theirs.value)),
            Kind::Numbers => {
                let [mine, theirs] = [mine, theirs.value].map(numbers);
                let is_named = self.labels.len() == mine.len() && mine.len() == theirs.len();
                let list = |all: Vec<u64>| all.into_iter().map(number).collect::<Vec<_>>().join(", ");
                match (0..mine.len()).find(|&at| mine.get(at) != theirs.get(at)) {
                    Some(at) if is_named => match label(at).strip_prefix(HASHED) {
                        Some(label) => others(&format!("another {label}")),
                        None => passed(&named(at), [mine[at], theirs[at]].map(number)),
                    },
                    _ => passed("", [mine, theirs].map(list)),
                }
            }
        }
    }
}

/// A note of another rank.
struct Sent<'a> {
    kind: u8,
    topic: u8,
    call: String,
    value: &'a [u8],
}

/// The notes in what another rank has sent.
struct AllSent<'a>(&'a [u8]);

impl<'a> Iterator for AllSent<'a> {
    type Item = Sent<'a>;

    fn next(&mut self) -> Option<Sent<'a>> {
        let (&[kind, topic, call, low, high], rest) = self.0.split_first_chunk()?;
        let (call, rest) = rest.split_at_checked(usize::from(call)).filter(|_| kind > 0)?;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
        self.0 = rest;
        Some(Sent { kind: kind - 1, topic, call: String::from_utf8_lossy(call).into_owned(), value })
    }
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

/// A number as the program has passed it: numbers of records may be negative.
fn number(value: u64) -> String {
    match value {
        super::FINE => "none".into(),
        _ => value.cast_signed().to_string(),
    }
}

/// Two texts that differ: where they do, if they are long. Of metadata, the line, which has one key.
fn excerpts(mine: &[u8], theirs: &[u8]) -> [String; 2] {
    let mut same = mine.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let mut texts = [mine, theirs];
    let are_metadata = texts.iter().all(|text| text.starts_with(b"{\n"));
    if are_metadata {
        let line = mine[..same].iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        let lines = texts.map(|text| {
            let mut lines =
                text[line..].split(|&b| b == b'\n').map(|line| line.strip_suffix(b",").unwrap_or(line));
            [lines.next(), lines.next()].map(Option::unwrap_or_default)
        });
        // Only a comma differs if one rank has a key more, which is in the next line.
        let has_more = lines[0][0] == lines[1][0];
        texts = lines.map(|[line, next]| match next {
            _ if !has_more => line,
            b"}" => b"nothing",
            next => next,
        });
        same = if has_more { 0 } else { same - line };
    }
    let longest = texts.iter().map(|text| text.len()).max();
    let from = if longest <= Some(SHOWN) { 0 } else { same.saturating_sub(SHOWN / 2) };
    texts.map(|text| {
        let shown = &text[from.min(text.len())..text.len().min(from + SHOWN)];
        let shown = match are_metadata {
            // Without the backslashes before the quotation marks of JSON.
            true => shown.escape_ascii().to_string().replace("\\\"", "\""),
            false => quote(shown),
        };
        let dots = |is_cut| if is_cut { "..." } else { "" };
        format!("{}{shown}{}", dots(from > 0), dots(from + SHOWN < text.len()))
    })
}
