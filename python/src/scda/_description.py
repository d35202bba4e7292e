"""Converts descriptions of datasets between numpy and the core: types, fill values, attributes."""

from __future__ import annotations

import json
import math
import operator
import re
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core
from ._common import VARIABLE_TYPES, dtype_named, packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPE_NAMES = frozenset(_core.type_names())


# The attribute with the types of other attributes, where JSON does not tell them.
TYPES = "scda_types"
# The floating-point numbers that JSON does not have, by the texts that stand for them.
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# The attribute with the full name of a dataset or group, if that is too long for a user string.
FULL_NAME = "scda_name"
_SHORTENED = re.compile(r".*~[0-9a-f]{16}")


def may_be_long(user: str) -> bool:
    """True if this may be the user string for a longer name."""
    return _SHORTENED.fullmatch(user) is not None


def full_name(stored: str, attributes: str) -> str:
    """The full name or path, given what is stored in its place and the attributes."""
    if not may_be_long(stored):
        return stored
    found = attributes_of(attributes).get(FULL_NAME)
    is_one = isinstance(found, str) and stored in (_core.stored_name(found), _core.stored_path(found))
    return str(found) if is_one else stored


def with_name(attrs: Optional[Mapping[str, Any]], name: str, stored: str) -> Optional[Mapping[str, Any]]:
    """The attributes to write for an object with this name, which is stored as `stored`."""
    if name == stored or not isinstance(attrs or {}, Mapping):
        return attrs
    if (attrs or {}).get(FULL_NAME, name) != name:
        raise ValueError(f"attrs: found {FULL_NAME!r}, which is reserved for names too long for a user string")
    return {FULL_NAME: name, **(attrs or {})}


def without_name(attrs: dict[str, Any], name: str) -> dict[str, Any]:
    """The attributes without the one that :func:`with_name` adds."""
    if attrs.get(FULL_NAME) == name:
        del attrs[FULL_NAME]
    return attrs


# The codecs of chunks; the first one is the default.
CODECS = tuple(_core.codec_names())


class Description(NamedTuple):
    """The description of a dataset, as the core takes and returns it."""

    name: str
    type: str
    shape: Sequence[int]
    layout: str
    chunks: Optional[Sequence[int]]
    codec: str
    level: Optional[int]
    shuffle: bool
    max_errors: tuple[float, float]
    fill: bytes
    dims: Sequence[Optional[str]]
    attributes: str
    unsupported: Optional[str]
    extends: bool = False
    added_rows: int = 0

    @property
    def full_name(self) -> str:
        """The name, even if it is too long for a user string."""
        return full_name(self.name, self.attributes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in the byte order of this machine."""
        return dtype_named(self.type)

    @property
    def fill_item(self) -> Any:
        """The fill value, of the type of the dataset."""
        dtype = self.dtype
        if self.type in VARIABLE_TYPES:
            return self.fill.decode() if self.type == "string" else bytes(self.fill)
        if not self.fill:
            return np.zeros((), dtype)[()]
        return np.frombuffer(self.fill, dtype.newbyteorder("<")).astype(dtype)[0]


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """This type in the byte order of this machine. Raises a TypeError if no dataset can have it."""
    if dtype.subdtype is None and not dtype.hasobject and (dtype.kind in "USMm" or dtype.names is not None) and dtype.itemsize > 0:
        for field in [] if dtype.names is None else [dtype[name] for name in dtype.names]:
            native(field.base)
        return dtype.newbyteorder("=")
    return native_numbers(dtype)


def native_numbers(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same for types of numbers and raw bytes only."""
    # Types of other packages, such as bfloat16, may present themselves as raw bytes. The file could not say what these
    # mean.
    is_raw = dtype.kind == "V" and dtype.names is None and dtype.subdtype is None and dtype.type is np.void
    if dtype.name in TYPE_NAMES or is_raw:
        return dtype.newbyteorder("=")
    if dtype.hasobject or dtype.kind == "U":
        hint = "numbers, or texts of fixed length such as U8"
    else:
        hint = f'numbers or raw bytes; view("V{dtype.itemsize}") makes these of a contiguous array'
        if dtype.type.__module__.startswith("ml_dtypes"):
            hint += ', astype("float32") numbers'
    raise TypeError(f"dtype: found {dtype}, which cannot be stored in a dataset, expected {hint}")


def are_converted(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """True if the core converts items of one native type to the other: numbers, and structs member by member."""
    if a.names is not None and b.names is not None:
        return True
    return {a.name, b.name} <= TYPE_NAMES and any(a.kind in kinds and b.kind in kinds for kinds in ("iuf", "c"))


def fill_bytes(value: Any, dtype: np.dtype[Any]) -> bytes:
    """A fill value as an item in little-endian byte order."""
    if value is None:
        return b""
    found: bytes = _core.in_default_floats(lambda: _fill_bytes(value, packed(dtype)))
    return found


def _fill_bytes(value: Any, dtype: np.dtype[Any]) -> bytes:
    if dtype.subdtype is not None:
        of, shape = dtype.subdtype
        rows = value if _ndim(value, of) >= len(shape) else [value]
        if len(rows) not in (1, shape[0]):
            raise ValueError(f"fill_value: found {len(rows)} items in a member that is an array, expected {shape[0]}")
        found = b"".join(_fill_bytes(row, np.dtype((of, shape[1:]))) for row in rows)
        return found * shape[0] if len(rows) == 1 else found
    if dtype.names is not None:
        return b"".join(_fill_bytes(each, dtype[name]) for each, name in zip(_members(value, dtype.names), dtype.names))
    if dtype.kind in "US":
        return _text_bytes(value, dtype)
    if dtype.kind in "Mm":
        return _time_bytes(value, dtype)
    if dtype.kind == "V":
        if not isinstance(value, (bytes, bytearray, memoryview, np.void)):
            raise TypeError(f"fill_value: found {value!r}, expected bytes")
        raw = value.tobytes() if isinstance(value, (memoryview, np.void)) else bytes(value)
        if len(raw) != dtype.itemsize:
            raise ValueError(f"fill_value: found {len(raw)} bytes, expected {dtype.itemsize}")
        return raw
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biufc":
        raise TypeError(f"fill_value: found {value!r}, expected one number")
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        number = _integer("fill_value", value[()] if isinstance(value, np.ndarray) else value)
        if not least <= number <= most:
            raise ValueError(f"fill_value: found {number}, expected {least} to {most}")
    elif dtype.kind == "b" and value not in (False, True):
        raise ValueError(f"fill_value: found {value!r}, expected True or False")
    elif dtype.kind == "f" and np.iscomplexobj(value):
        raise TypeError(f"fill_value: found {value!r}, expected a real number")
    with np.errstate(over="ignore"):
        item = np.array(value).astype(dtype)
    if dtype.kind in "fc" and np.isinf(item).any() and not np.isinf(value).any():
        raise ValueError(f"fill_value: found {value!r}, expected a number that {dtype} can represent")
    little: bytes = item.astype(dtype.newbyteorder("<")).tobytes()
    return little


def _ndim(value: Any, of: np.dtype[Any]) -> int:
    """The number of dimensions of a value given for an array of such items. If these are structs, a tuple is an
    item."""
    if isinstance(value, list if of.names is not None else (list, tuple)):
        return 1 + (_ndim(value[0], of) if value else 0)
    return value.ndim if isinstance(value, np.ndarray) else 0


def _members(value: Any, names: Sequence[str]) -> list[Any]:
    """The members of a struct; a single value stands for all of them."""
    if isinstance(value, (np.void, np.ndarray)) and value.dtype.names is not None:
        item: Any = value[()] if isinstance(value, np.ndarray) else value
        value = tuple(item[name] for name in value.dtype.names)
    members = list(value) if isinstance(value, tuple) else [value] * len(names)
    if len(members) != len(names):
        raise ValueError(f"fill_value: found {len(members)} members, expected {len(names)}")
    return members


def _text_bytes(value: Any, dtype: np.dtype[Any]) -> bytes:
    given = np.asarray(np.asarray(value)[()])  # drops NULs at the end, which are no part of the text
    if given.ndim != 0 or given.dtype.kind not in "US":
        raise TypeError(f"fill_value: found {value!r}, expected a text")
    item = given.astype(dtype.newbyteorder("<"))
    if item.dtype.itemsize < given.astype(dtype.kind).dtype.itemsize:
        raise ValueError(f"fill_value: found {value!r}, expected a text that fits into {dtype}")
    return item.tobytes()


def _time_bytes(value: Any, dtype: np.dtype[Any]) -> bytes:
    item = np.array(value, dtype)
    if item.ndim != 0:
        raise TypeError(f"fill_value: found {value!r}, expected one time")
    if np.asarray(value).dtype.kind not in "biu" and not np.isnat(item):
        given = np.array(value, dtype.kind + "8")  # in the unit that it has
        if item.astype(given.dtype) != given:
            raise ValueError(f"fill_value: found {value!r}, expected a time that {dtype} can represent")
    little: bytes = item.astype(dtype.newbyteorder("<")).tobytes()
    return little


def attributes_text(attrs: Optional[Mapping[str, Any]]) -> str:
    """Attributes as JSON. Numbers and arrays of numpy become numbers and lists."""
    if attrs is None:
        return "{}"
    if not isinstance(attrs, Mapping):
        raise TypeError(f"attrs: found {type(attrs).__name__}, expected a dict")
    odd = [key for key in attrs if not isinstance(key, str)]
    if odd:
        raise TypeError(f"attrs: found the key {odd[0]!r}, expected a str")
    text: str = _core.in_default_floats(lambda: _text_of_attributes(attrs))
    return text


def attributes_of(text: str) -> dict[str, Any]:
    """Parses attributes from their JSON in a file, with the numbers that JSON has not as numbers."""
    attrs: dict[str, Any] = _core.in_default_floats(lambda: json.loads(text))
    if not any(name in text for name in ('"NaN"', 'Infinity"')):
        return attrs
    types = attrs.get(TYPES)
    texts = [name for name, of in types.items() if of == "string"] if isinstance(types, dict) else []
    return {name: value if name in texts else _with_numbers(value) for name, value in attrs.items()}


def _with_numbers(value: Any) -> Any:
    """A value of an attribute; if it consists of numbers and texts such as "NaN", with numbers for the texts."""
    if isinstance(value, str):
        return NUMBERS.get(value, value)
    if not isinstance(value, list):
        return value
    made = [_with_numbers(item) for item in value]
    return made if all(isinstance(item, (int, float, list)) and not isinstance(item, bool) for item in made) else value


def _text_of_attributes(attrs: Mapping[str, Any]) -> str:
    try:
        return _json_text(dict(attrs))
    except (TypeError, ValueError):
        for name, value in attrs.items():
            try:
                _json_text({name: value})
            except (TypeError, ValueError) as error:
                raise (TypeError if isinstance(error, TypeError) else ValueError)(f"attrs: {name!r}: {error}") from None
        raise


def json_text(value: Any) -> str:
    """The JSON of a value, in which texts stand for NaN and infinities."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        found = json.loads(json.dumps(value, default=_plain), parse_constant=str)
        return json.dumps(found, ensure_ascii=False, allow_nan=False)


def _json_text(attrs: dict[str, Any]) -> str:
    text = json_text(attrs)
    text.encode()  # fails for lone surrogates, which a str may have and UTF-8 cannot represent
    return text


def _plain(value: Any) -> Any:
    """The JSON value for a number or an array of numpy."""
    if isinstance(value, (np.generic, np.ndarray)):
        found = value.tolist()
        if not isinstance(found, np.generic):  # stays numpy's for types that Python has not, such as longdouble
            return found
    raise TypeError(f"found {value!r}, expected numbers, strings, lists, dicts, bools or None, as in JSON")


def integers(what: str, values: Union[int, Sequence[int]]) -> tuple[int, ...]:
    """Non-negative numbers, passed as numpy takes a shape."""
    numbers: list[int] = []
    several: Sequence[Any] = [values] if np.ndim(values) == 0 else values  # type: ignore[assignment]
    for value in several:
        numbers.append(_integer(what, value))
        if not 0 <= numbers[-1] < 1 << 63:
            raise ValueError(f"{what}: found {numbers[-1]}, expected 0 to {(1 << 63) - 1}")
    return tuple(numbers)


def _integer(what: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: found {value!r}, expected an integer") from None


def names_of(dims: Optional[Sequence[Optional[str]]], ndim: int) -> list[Optional[str]]:
    if dims is None:
        return []
    names: list[Optional[str]] = [dims] if isinstance(dims, str) else list(dims)
    if len(names) != ndim or not all(name is None or isinstance(name, str) for name in names):
        raise ValueError(f"dims: found {dims!r}, expected a str or None for each of {ndim} dimensions")
    return names


def items_of(data: Any, dtype: Any) -> NDArray[Any]:
    """Data as an array in the byte order of this machine, of a type that datasets have or that the core converts to
    `dtype`. Makes no copy if they are one."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("data: found a masked array, expected one without a mask; filled() returns one")
    item = None if dtype is None else np.dtype(dtype)
    if isinstance(data, np.ndarray) and (item is None or (data.dtype.isnative and are_converted(data.dtype, item))):
        return np.asarray(data, native(data.dtype))
    array = np.asarray(data, item)
    return np.asarray(array, native(array.dtype))


def class_of_texts(dtype: Any) -> Optional[type[Union[str, bytes]]]:
    """The class of items if this dtype stands for texts or bytes of any length; None if it does not, or does not tell
    which."""
    found = np.dtype(np.void if dtype is None else dtype)
    if found.kind == "T" or found.kind in "US" and found.itemsize == 0:
        return bytes if found.kind == "S" else str
    return None


def texts_of(data: Any, dtype: Any) -> Optional[tuple[str, NDArray[Any]]]:
    """If the items of the data are texts or bytes of any length, an array of objects and the core's name for their
    type; else None. They are if `dtype` is `str`, `bytes` or `object`, or if the data are of the type `object` or
    numpy's `StringDType`."""
    wanted = getattr(data, "dtype", None) if dtype is None else np.dtype(dtype)
    if wanted is not None and not isinstance(wanted, np.dtype):
        wanted = np.asarray(data).dtype  # types of pandas are no dtypes
    if wanted is None or wanted.names is not None:
        return None
    if class_of_texts(dtype) is None and wanted.kind not in "OT":
        return None
    array = np.asarray(data, object)
    kinds = {type(item) for item in array.reshape(-1).tolist()}
    name = "variable_length_bytes" if wanted.kind == "S" or (wanted.kind == "O" and kinds == {bytes}) else "string"
    odd = sorted(kind.__name__ for kind in kinds if not issubclass(kind, VARIABLE_TYPES[name]))
    if odd:
        raise TypeError(f"data: found {odd[0]} among the items, expected str or bytes in all of them")
    return name, array
