//! Parses the metadata of datasets and groups, whichever program wrote them.

use super::codecs::{Codecs, first_codec};
use super::json::{JsonMember, members, trimmed, value, wrong};
use super::{ChunkGrid, DataType, Dataset, check_name, fill, type_json};
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::floats::in_default;
use scda_base::memory::copy;
use serde_json::{Map, Value};

/// The keys of a dataset's metadata that this library knows. Others are ignored where Zarr permits that.
pub const KEYS: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "codecs",
    "fill_value",
    "attributes",
    "dimension_names",
    "storage_transformers",
];

/// What the metadata of a dataset say.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// All but the layout, which depends on the section of the data.
    pub dataset: Dataset,
    /// The shape of the chunks.
    pub chunk_shape: Vec<u64>,
    /// What was done to the bytes.
    pub codecs: Codecs,
}

/// The metadata that were parsed last. Those of the fields of one step are mostly equal but for trailing
/// spaces.
#[derive(Default)]
pub struct KnownMetadata(Option<(Vec<u8>, Metadata)>);

/// Longer metadata are not remembered.
const MOST_KNOWN_BYTES: usize = 1 << 14;

impl KnownMetadata {
    /// The same as [`dataset`], but parses a text only if it differs from the last valid one.
    ///
    /// # Errors
    /// The errors of [`dataset`]; `Memory`.
    pub fn dataset(&mut self, name: &str, text: &[u8]) -> Result<Metadata> {
        let text_alone = trimmed(text);
        if let Some((known, metadata)) = &self.0
            && known == text_alone
        {
            check_name(name)?;
            let mut metadata = metadata.clone();
            name.clone_into(&mut metadata.dataset.name);
            return Ok(metadata);
        }
        let metadata = dataset(name, text)?;
        if text_alone.len() <= MOST_KNOWN_BYTES {
            self.0 = Some((copy(text_alone)?, metadata.clone()));
        }
        Ok(metadata)
    }
}

/// The metadata of the dataset of this name.
///
/// # Errors
/// `Format` and `Range`, at a byte of the text; `Unsupported` for a data type that is none of [`DataType`].
pub fn dataset(name: &str, text: &[u8]) -> Result<Metadata> {
    in_default(|| parse(name, text))
}

fn parse(name: &str, text: &[u8]) -> Result<Metadata> {
    let node = Node::new(text, "array")?;
    let mut unsupported = node.unknown();
    let mut cannot = |why: String| {
        unsupported.get_or_insert(why);
    };
    let shape_field = node.required("shape")?;
    let shape = shape_field.numbers(&shape_field.value)?;
    let type_field = node.required("data_type")?;
    let data_type = type_field.data_type()?;

    let grid_field = node.required("chunk_grid")?;
    let grid = grid_field.named(&grid_field.value)?;
    let chunk_shape = if grid.name == "regular" {
        let chunk = grid.configuration.and_then(|configuration| configuration.get("chunk_shape"));
        let chunk = chunk.ok_or_else(|| grid_field.wrong("chunk_shape is missing"))?;
        grid_field.numbers(chunk)?
    } else {
        cannot(format!("the chunk grid {}", quote(grid.name.as_bytes())));
        shape.iter().map(|&n| n.max(1)).collect()
    };
    let (codecs, unknown) = node.required("codecs")?.codecs(data_type)?;
    unknown.into_iter().for_each(&mut cannot);
    if let Some(transformers) = node.field("storage_transformers")
        && transformers.value.as_array().is_none_or(|all| !all.is_empty())
    {
        cannot("storage transformers".into());
    }

    let mut dataset = Dataset::new(name, data_type, shape);
    let fill_field = node.required("fill_value")?;
    let item = fill::of_json(data_type, &fill_field.value);
    let item = item.ok_or_else(|| fill_field.unlike(&format!("an item of the type {data_type}")))?;
    if data_type.is_variable() || item.iter().any(|&byte| byte != 0) {
        dataset.fill_value = item;
    }
    if let Some(names) = node.field("dimension_names") {
        dataset.dimension_names = names.dimension_names(dataset.shape.len())?;
    }
    dataset.attributes = node.attributes()?;
    codecs.describe(&mut dataset);
    if data_type.is_variable() && codecs.compressor.is_none() {
        // Their chunks need not be compressed.
        dataset.level = Some(0);
    }
    // Numbers that contradict one another are errors of the file.
    let of_file = |error: Error, offset| {
        let kind = if error.kind() == ErrorKind::Argument { ErrorKind::Format } else { error.kind() };
        error.with_kind(kind).at(offset)
    };
    dataset.validate().map_err(|error| of_file(error, shape_field.offset))?;
    ChunkGrid::new(&dataset.shape, &chunk_shape, data_type.item_bytes())
        .map_err(|error| of_file(error, grid_field.offset))?;
    dataset.unsupported = unsupported;
    Ok(Metadata { dataset, chunk_shape, codecs })
}

/// The attributes of a group.
///
/// # Errors
/// As [`dataset`].
pub fn group(text: &[u8]) -> Result<String> {
    Node::new(text, "group")?.attributes()
}

/// The members of the metadata of an array or group.
struct Node<'a>(Vec<JsonMember<'a>>);

impl<'a> Node<'a> {
    fn new(text: &'a [u8], node_type: &str) -> Result<Self> {
        let node = Self(members(text)?);
        let expect = |key: &'static str, expected: Value| {
            let field = node.required(key)?;
            if field.value == expected { Ok(()) } else { Err(field.unlike(&expected.to_string())) }
        };
        expect("zarr_format", 3.into())?;
        expect("node_type", node_type.into())?;
        Ok(node)
    }

    fn member(&self, key: &str) -> Option<&JsonMember<'a>> {
        self.0.iter().find(|member| member.key == key)
    }

    fn field(&self, key: &'static str) -> Option<Field> {
        let member = self.member(key)?;
        // The value is valid: it was checked.
        let value = value(member.text)?;
        Some(Field { key, value, offset: member.offset })
    }

    fn required(&self, key: &'static str) -> Result<Field> {
        self.field(key).ok_or_else(|| wrong(format!("the key \"{key}\" is missing"), 0))
    }

    /// Why the data cannot be read: a key outside [`KEYS`] that a reader must understand. `None` if there is
    /// none.
    fn unknown(&self) -> Option<String> {
        let must_be_understood = |member: &&JsonMember<'_>| {
            let value = value(member.text).unwrap_or_default();
            value.get("must_understand") != Some(&Value::Bool(false))
        };
        let is_unknown = |member: &&JsonMember<'_>| !KEYS.contains(&&*member.key);
        let member = self.0.iter().filter(is_unknown).find(must_be_understood)?;
        Some(format!("the key {} of the metadata", quote(member.key.as_bytes())))
    }

    fn attributes(&self) -> Result<String> {
        let Some(member) = self.member("attributes") else { return Ok("{}".into()) };
        if !member.text.starts_with('{') {
            let field = Field { key: "attributes", value: Value::Null, offset: member.offset };
            return Err(field.wrong(&format!("found {}, expected an object", quote(member.text.as_bytes()))));
        }
        Ok(super::json::compact(member.text))
    }
}

/// The value of a key of the metadata.
struct Field {
    key: &'static str,
    value: Value,
    offset: u64,
}

/// A name, perhaps with a configuration.
struct NamedConfiguration<'a> {
    name: &'a str,
    configuration: Option<&'a Map<String, Value>>,
}

impl NamedConfiguration<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.configuration?.get(key)
    }
}

impl Field {
    fn wrong(&self, what: &str) -> Error {
        Error::new(ErrorKind::Format, format!("metadata: {}: {what}", self.key)).at(self.offset)
    }

    /// The error for a value other than the expected one.
    fn unlike(&self, expected: &str) -> Error {
        self.wrong(&format!("found {}, expected {expected}", quote(self.value.to_string().as_bytes())))
    }

    /// The list as non-negative numbers.
    fn numbers(&self, list: &Value) -> Result<Vec<u64>> {
        let numbers = list.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
        numbers.ok_or_else(|| {
            let found = quote(list.to_string().as_bytes());
            self.wrong(&format!(
                "found {found}, expected a list of integers of at most 64 bits, none negative"
            ))
        })
    }

    /// A name, which stands alone or in an object.
    fn named<'v>(&self, value: &'v Value) -> Result<NamedConfiguration<'v>> {
        let named = match value {
            Value::String(name) => Some(NamedConfiguration { name, configuration: None }),
            Value::Object(object) => object.get("name").and_then(Value::as_str).and_then(|name| {
                let configuration = match object.get("configuration") {
                    None => None,
                    Some(value) => Some(value.as_object()?),
                };
                Some(NamedConfiguration { name, configuration })
            }),
            _ => None,
        };
        named.ok_or_else(|| {
            let found = quote(value.to_string().as_bytes());
            self.wrong(&format!("found {found}, expected a name, or an object with one"))
        })
    }

    fn data_type(&self) -> Result<DataType> {
        self.named(&self.value)?;
        let data_type = type_json::of_metadata(&self.value);
        let cannot_be = |error: Error| {
            if error.kind() == ErrorKind::Argument { self.wrong(&error.to_string()) } else { error }
        };
        let data_type = data_type.map_err(cannot_be)?;
        data_type.ok_or_else(|| {
            let text = self.value.to_string();
            // The name alone is in quotes already.
            let found =
                self.value.as_str().map_or_else(|| quote(text.as_bytes()), |name| quote(name.as_bytes()));
            let message = format!("metadata: data_type: found {found}, which this library cannot read");
            Error::new(ErrorKind::Unsupported, message).at(self.offset)
        })
    }

    /// The codecs; and why the data cannot be read, if this library does not know one of them.
    fn codecs(&self, data_type: DataType) -> Result<(Codecs, Option<String>)> {
        let list = self.value.as_array().ok_or_else(|| self.unlike("a list of codecs"))?;
        let mut codecs = Codecs::default();
        for (place, value) in list.iter().enumerate() {
            let codec = self.named(value)?;
            let bad = |what: &str| {
                let found = quote(value.to_string().as_bytes());
                self.wrong(&format!("found {found}, expected {what}"))
            };
            let unknown = || format!("the codec {} at place {place}", quote(codec.name.as_bytes()));
            if (codec.name, place) == (first_codec(data_type), 0) {
                if data_type.is_variable() {
                    continue;
                }
                match codec.get("endian").map(|value| value.as_str()) {
                    // Nothing would tell the byte order of its members.
                    Some(Some("big")) if matches!(data_type, DataType::Struct(_)) => {
                        return Ok((codecs, Some("a big-endian struct".into())));
                    }
                    Some(Some("big")) => codecs.big_endian = true,
                    Some(Some("little")) => {}
                    None if data_type.number_bytes() == 1 => {}
                    _ => return Err(bad("an endian, \"little\" or \"big\"")),
                }
                continue;
            }
            if !codecs.add(codec.name, codec.configuration, place, data_type).map_err(bad)? {
                return Ok((codecs, Some(unknown())));
            }
        }
        if list.is_empty() {
            let expected = first_codec(data_type);
            return Err(self.wrong(&format!("\"{expected}\" is missing")));
        }
        Ok((codecs, None))
    }

    /// The names of all dimensions, or none.
    fn dimension_names(&self, dimensions: usize) -> Result<Vec<Option<String>>> {
        let name = |value: &Value| match value {
            Value::Null => Some(None),
            Value::String(name) => Some(Some(name.clone())),
            _ => None,
        };
        match &self.value {
            Value::Null => Ok(Vec::new()),
            Value::Array(names) if !names.is_empty() && names.len() != dimensions => {
                Err(self.unlike(&format!("one for each of {dimensions} dimensions")))
            }
            Value::Array(names) => names
                .iter()
                .map(name)
                .collect::<Option<_>>()
                .ok_or_else(|| self.unlike("a list of strings and nulls")),
            _ => Err(self.unlike("a list of strings and nulls")),
        }
    }
}

#[cfg(test)]
mod tests;
