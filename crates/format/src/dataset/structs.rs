//! Structs: items with several named members, each of its own type.

use super::DataType;
use scda_base::error::{Error, Result};
use scda_base::fork::Global;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most bytes of the descriptions of all structs. The process keeps each of them.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The type of items that are structs, with their members. In files, members follow one another without gaps.
///
/// ```
/// use scda::{DataType, Struct};
///
/// let particle = Struct::packed([("x", DataType::Float64), ("id", DataType::Uint32)])?;
/// assert_eq!(DataType::Struct(particle).item_bytes(), 12);
/// assert_eq!(DataType::Struct(particle).to_string(), "struct(x: float64, id: uint32)");
/// # Ok::<(), scda::Error>(())
/// ```
// Each description is kept once, so that types can be copied and compared by address.
#[derive(Clone, Copy)]
pub struct Struct(&'static Description);

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its name: any text that is not empty and has no NUL.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Its offset in the struct, in bytes.
    pub offset: u64,
}

#[derive(PartialEq, Eq, Hash)]
struct Description {
    members: Vec<Member>,
    item_bytes: u64,
}

impl Struct {
    /// The most members of a struct, those of inner structs included.
    pub const MAX_MEMBERS: usize = 4096;
    /// The most levels of structs, the outermost included.
    pub const MAX_LEVELS: usize = 8;

    /// The struct with these members as it lies in memory, `item_bytes` bytes in all.
    ///
    /// # Errors
    /// `Argument` for members that cannot be: none, too many, without a name or with one that another has, on one another, or beyond
    /// the item; `Memory`.
    pub fn new(members: impl IntoIterator<Item = Member>, item_bytes: u64) -> Result<Self> {
        let description = Description { members: members.into_iter().collect(), item_bytes };
        description.check()?;
        description.kept()
    }

    /// The struct with these members one after the other, as it lies in a file.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn packed<'a>(members: impl IntoIterator<Item = (&'a str, DataType)>) -> Result<Self> {
        let mut end = 0_u64;
        let member = |(name, data_type): (&str, DataType)| {
            let offset = end;
            end = end.saturating_add(data_type.item_bytes());
            Member { name: name.to_owned(), data_type, offset }
        };
        let members: Vec<Member> = members.into_iter().map(member).collect();
        Self::new(members, end)
    }

    /// The array of `count` items: a struct whose members are called 0, 1, ...
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn array(data_type: DataType, count: u64) -> Result<Self> {
        if count > Self::MAX_MEMBERS as u64 {
            return Err(too_many());
        }
        let names: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        Self::packed(names.iter().map(|name| (name.as_str(), data_type)))
    }

    /// The members in their order.
    #[must_use]
    pub fn members(&self) -> &'static [Member] {
        &self.0.members
    }

    /// The bytes of an item.
    #[must_use]
    pub fn item_bytes(&self) -> u64 {
        self.0.item_bytes
    }

    /// The type and number of the items, if the struct is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<(DataType, usize)> {
        let members = self.members();
        let first = members.first()?;
        let fits = |(n, member): (usize, &Member)| {
            member.data_type == first.data_type
                && member.offset == n as u64 * first.data_type.item_bytes()
                && member.name == n.to_string()
        };
        members.iter().enumerate().all(fits).then_some((first.data_type, members.len()))
    }

    /// The same struct as it lies in a file, without gaps.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn in_file(&self) -> Result<Self> {
        let members: Result<Vec<(&str, DataType)>> = self
            .members()
            .iter()
            .map(|member| Ok((member.name.as_str(), member.data_type.in_file()?)))
            .collect();
        Self::packed(members?)
    }

    /// Calls `each` with every member that is not a struct, inner ones included, and the number of bytes
    /// before it.
    pub fn for_each_leaf(&self, before: u64, each: &mut impl FnMut(u64, DataType)) {
        for member in self.members() {
            match member.data_type {
                DataType::Struct(inner) => inner.for_each_leaf(before + member.offset, each),
                data_type => each(before + member.offset, data_type),
            }
        }
    }

    /// The number of levels of structs, this one included, and of all members in them.
    fn sizes(&self) -> (usize, usize) {
        let inner = self.members().iter().map(|member| match member.data_type {
            DataType::Struct(inner) => inner.sizes(),
            _ => (0, 0),
        });
        let (levels, members) =
            inner.fold((0, 0), |(level, all), (levels, members)| (levels.max(level), all + members));
        (levels + 1, members + self.members().len())
    }
}

#[cold]
fn too_many() -> Error {
    Error::argument(format!(
        "struct: found more than {} members, or {} levels of nesting",
        Struct::MAX_MEMBERS,
        Struct::MAX_LEVELS
    ))
}

impl Description {
    fn check(&self) -> Result<()> {
        let refuse = |words: String| Err(Error::argument(format!("struct: {words}")));
        let (mut levels, mut all) = (1, self.members.len());
        let mut names = HashSet::new();
        let mut places = Vec::new();
        for Member { name, data_type, offset } in &self.members {
            if name.is_empty() || name.contains('\0') || !names.insert(name) {
                return refuse(format!(
                    "found the name {name:?}, expected a unique, nonempty name without NUL"
                ));
            }
            if !data_type.is_valid() || data_type.is_variable() {
                return refuse(format!("found a member {name:?} of {data_type}"));
            }
            if let DataType::Struct(inner) = data_type {
                let (inner_levels, members) = inner.sizes();
                (levels, all) = (levels.max(inner_levels + 1), all + members);
            }
            match offset.checked_add(data_type.item_bytes()) {
                Some(end) if end <= self.item_bytes => places.push((*offset, end)),
                _ => {
                    return refuse(format!(
                        "found the member {name:?} of {data_type} at byte {offset}, expected it within {} bytes",
                        self.item_bytes
                    ));
                }
            }
        }
        if levels > Struct::MAX_LEVELS || all > Struct::MAX_MEMBERS {
            return Err(too_many());
        }
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return refuse("found overlapping members, expected none that overlap".to_owned());
        }
        if self.members.is_empty() || self.item_bytes > DataType::MAX_RAW_BYTES.into() {
            return refuse(format!(
                "found {} members and {} bytes, expected one member or more, and at most {} bytes",
                self.members.len(),
                self.item_bytes,
                DataType::MAX_RAW_BYTES
            ));
        }
        Ok(())
    }

    /// The kept description that equals this one, which is added if there is none.
    fn kept(self) -> Result<Struct> {
        // A tree of their hashes, not a hash table: valgrind would report the memory of a table as lost.
        static KEPT: Global<(BTreeMap<u64, Vec<&'static Description>>, usize)> =
            Global::new((BTreeMap::new(), 0));
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        KEPT.with(|(all, bytes)| {
            let alike = all.entry(hasher.finish()).or_default();
            if let Some(known) = alike.iter().find(|known| ***known == self) {
                return Ok(Struct(known));
            }
            let own =
                self.members.iter().map(|member| size_of::<Member>() + member.name.len()).sum::<usize>();
            let own = own + size_of::<Self>();
            if own > MAX_KEPT_BYTES - *bytes {
                return Err(Error::memory(own));
            }
            *bytes += own;
            let new: &'static Self = Box::leak(Box::new(self));
            alike.push(new);
            Ok(Struct(new))
        })
    }
}

impl PartialEq for Struct {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Struct {}

impl Hash for Struct {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As people read it: `struct(x: float64, v: float32[3])`.
impl fmt::Display for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((data_type, count)) = self.as_array() {
            return write!(f, "{data_type}[{count}]");
        }
        f.write_str("struct(")?;
        for (n, member) in self.members().iter().enumerate() {
            let separator = if n == 0 { "" } else { ", " };
            let name = member.name.escape_debug();
            write!(f, "{separator}{name}: {}", member.data_type)?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, data_type: DataType, offset: u64) -> Member {
        Member { name: name.into(), data_type, offset }
    }

    #[test]
    fn members_that_cannot_be_are_told() {
        let int = |name: &str, offset| member(name, DataType::Int32, offset);
        let most = DataType::Raw(DataType::MAX_RAW_BYTES);
        for (members, item_bytes, expected) in [
            (vec![], 0, "found 0 members and 0 bytes"),
            (vec![int("", 0)], 4, "found the name \"\""),
            (vec![int("a\0", 0)], 4, "found the name \"a\\0\""),
            (vec![int("a", 0), int("a", 4)], 8, "found the name \"a\", expected a unique"),
            (vec![member("a", DataType::String, 0)], 4, "found a member \"a\" of string"),
            (vec![member("a", DataType::Raw(0), 0)], 4, "found a member \"a\" of r0"),
            (
                vec![int("a", 0), int("b", 5)],
                8,
                "found the member \"b\" of int32 at byte 5, expected it within 8 bytes",
            ),
            (vec![int("a", u64::MAX)], 8, "expected it within 8 bytes"),
            (vec![int("a", 4), int("b", 1)], 8, "found overlapping members, expected none that overlap"),
            (vec![member("a", most, 0), int("b", 1 << 16)], 65_540, "found 2 members and 65540 bytes"),
        ] {
            let error = Struct::new(members, item_bytes).unwrap_err().to_string();
            assert!(error.starts_with("struct: ") && error.contains(expected), "{error}");
        }
        let whole = Struct::new([member("a", most, 0)], 1 << 16).unwrap();
        assert_eq!(whole.item_bytes(), 1 << 16);
    }

    #[test]
    #[cfg_attr(miri, ignore = "many minutes")]
    fn members_and_levels_have_a_most() {
        let all = Struct::MAX_MEMBERS as u64;
        let many = Struct::array(DataType::Int8, all).unwrap();
        assert_eq!(
            (format!("{many:?}"), many.as_array()),
            ("int8[4096]".into(), Some((DataType::Int8, 4096)))
        );
        let mut nested = Struct::packed([("a", DataType::Int8)]).unwrap();
        for _ in 1..Struct::MAX_LEVELS {
            nested = Struct::packed([("a", DataType::Struct(nested))]).unwrap();
        }
        assert_eq!(nested.sizes(), (Struct::MAX_LEVELS, Struct::MAX_LEVELS));
        for too_many in [
            Struct::array(DataType::Int8, all + 1),
            Struct::packed([("a", DataType::Struct(many))]),
            Struct::packed([("a", DataType::Struct(nested))]),
        ] {
            assert_eq!(
                too_many.unwrap_err().to_string(),
                "struct: found more than 4096 members, or 8 levels of nesting"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many minutes")]
    fn what_is_too_long_to_be_kept_takes_no_room_from_others() {
        let long = "a".repeat(MAX_KEPT_BYTES);
        for name in ["b", "c"] {
            let error = Struct::packed([(long.as_str(), DataType::Int8)]).unwrap_err();
            assert_eq!(error.kind(), scda_base::error::ErrorKind::Memory);
            Struct::packed([(name, DataType::Int8)]).unwrap();
        }
    }
}
