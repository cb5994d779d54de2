"""Canonical bytes: equal keys and values give equal bytes on every rank, and different ones different bytes.

An intermediate value is the MessagePack encoding of [keys, counts, values]: keys are unique and in
canonical order, counts[i] is how many of the values belong to keys[i] (nil: one each), values are flat.

The canonical order is by type (None, bool, int, float, bytes, str, tuple), then by value: str by code
point, -0.0 before 0.0, NaN after all floats, tuples element by element.  Two keys are equal when their
types and values are: 1, 1.0 and True are three keys, and so are 0.0 and -0.0; NaN equals itself.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any, cast

import msgspec

from coded_mr.errors import KeyTypeError, PacketError
from coded_mr.job import Key, Value

__all__ = [
    "canonical",
    "check_types",
    "decode",
    "encode",
    "order_keys",
    "shown",
    "stable_hash",
    "stable_hashes",
]

_SCALARS = frozenset({str, bytes, int, float, bool, type(None)})
_SORT_AS_THEY_ARE = frozenset({str, bytes, int, bool})
_RANKS: dict[type, int] = {type(None): 0, bool: 1, int: 2, float: 3, bytes: 4, str: 5, tuple: 6}
_DEEPEST = 64
_SHOWN = 80
_BIG_INT = 1


def encode(keys: Sequence[Key], counts: Sequence[int] | None, values: Sequence[Value]) -> bytes:
    """Return the bytes V[q,B] of keys in canonical order, counts values each (None: one), b"" for no keys.

    Raises KeyTypeError for a value (the types of the keys were checked when they came) that cannot travel.
    """
    if not keys:
        return b""
    try:
        check_types(values)
        return _pack([keys, counts, values])
    except KeyTypeError:
        for key in keys:
            canonical(key)
        owners = keys if counts is None else chain.from_iterable(map(repeat, keys, counts))
        for key, value in zip(owners, values, strict=True):
            canonical(value, f"the value {shown(value)} of key {shown(key)}")
        raise


def decode(data: bytes | memoryview) -> tuple[list[Key], list[int] | None, list[Value]]:
    """Return the keys, counts and values that encode() was given, of exactly the same types.

    Raises PacketError when these are no such bytes.
    """
    if not len(data):
        return [], None, []
    try:
        keys, counts, values = msgspec.msgpack.decode(
            data, type=tuple[list[Any], list[int] | None, list[Any]], ext_hook=_unpack_big
        )
    except msgspec.MsgspecError as error:
        raise PacketError(
            f"an intermediate value of {len(data)} bytes does not decode ({error}): it was damaged on its "
            "way, or ranks run different versions"
        ) from error
    return _tupled(keys), counts, _tupled(values)


def canonical(item: Key | Value, what: str | None = None) -> bytes:
    """Return the canonical bytes of one key or value.

    what: how a message names it.  Raises KeyTypeError.
    """
    try:
        check_types([item])
        return _pack(item)
    except KeyTypeError as error:
        raise KeyTypeError(f"{what or f'key {shown(item)}'}: {error}") from error.__cause__


def stable_hash(key: Key) -> int:
    """Return the CRC-32 of the canonical bytes, 0..2^32-1: the same on every rank and in every run."""
    return zlib.crc32(canonical(key))


def stable_hashes(keys: Sequence[Key]) -> list[int]:
    """Return stable_hash() of many keys whose types were checked."""
    try:
        return list(map(zlib.crc32, map(msgspec.msgpack.encode, keys)))
    except (OverflowError, UnicodeEncodeError):
        return list(map(stable_hash, keys))


def check_types(items: Iterable[Key | Value]) -> set[type]:
    """Return the types of the items.  Raises KeyTypeError when one, or an element of one, cannot travel."""
    outer = types = set(map(type, items))
    for _ in range(_DEEPEST):
        for other in types - _SCALARS - {tuple}:
            raise KeyTypeError(f"{_full_name(other)} cannot travel between ranks; {_remedy(other)}")
        if tuple not in types:
            return outer
        items = list(chain.from_iterable(item for item in items if type(item) is tuple))
        types = set(map(type, items))
    raise KeyTypeError(f"tuples nested more than {_DEEPEST} deep cannot travel between ranks; flatten them")


def order_keys(keys: Sequence[Key]) -> Sequence[Any]:
    """Return for each key something whose natural order is the canonical order of the keys.

    For the common cases, one type out of str, bytes, int, bool or tuples of these alike, the keys themselves.
    """
    types = set(map(type, keys))
    if len(types) <= 1 and (types <= _SORT_AS_THEY_ARE or (types == {tuple} and _alike(keys))):
        return keys
    return [_order(key) for key in keys]


def shown(item: object) -> str:
    """Return a short repr for messages."""
    try:
        text = repr(item)
    except Exception:  # a repr of the user's own, or of an int of more digits than Python prints
        text = f"<{type(item).__qualname__}>"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _alike(keys: Sequence[tuple[Any, ...]]) -> bool:
    if len(set(map(len, keys))) != 1:
        return False
    for place in range(len(keys[0])):
        types = {type(key[place]) for key in keys}
        if len(types) != 1 or not types <= _SORT_AS_THEY_ARE:
            return False
    return True


def _order(key: Key) -> tuple[Any, ...]:
    kind = type(key)
    if kind is tuple:
        return (_RANKS[kind], tuple(map(_order, key)))
    if kind is float:
        # The bits of a float order as integers once those of negative ones are flipped.
        (bits,) = struct.unpack(">q", struct.pack(">d", key))
        return (_RANKS[kind], key != key, bits if bits >= 0 else bits ^ 0x7FFF_FFFF_FFFF_FFFF)
    return (_RANKS[kind], 0 if key is None else key)


def _pack(item: object) -> bytes:
    try:
        return msgspec.msgpack.encode(item)
    except OverflowError:
        return msgspec.msgpack.encode(_with_big_ints(item))
    except UnicodeEncodeError as error:
        raise KeyTypeError(
            f"str with lone surrogates, which UTF-8 cannot carry ({error.reason}); "
            "use bytes: os.fsencode(...) for file names, .encode('utf-8', 'surrogateescape') for the rest"
        ) from error


def _with_big_ints(item: Any) -> Any:
    if type(item) in (list, tuple):
        return [_with_big_ints(element) for element in item]
    if type(item) is int and not -(1 << 63) <= item < 1 << 64:
        return msgspec.msgpack.Ext(_BIG_INT, item.to_bytes(item.bit_length() // 8 + 1, "big", signed=True))
    return item


def _unpack_big(code: int, data: memoryview) -> int:
    if code != _BIG_INT:
        raise msgspec.DecodeError(f"unknown extension {code}")
    return int.from_bytes(data, "big", signed=True)


def _tupled(items: list[Any]) -> list[Any]:
    if list not in set(map(type, items)):
        return items
    return [_as_tuple(item) if type(item) is list else item for item in items]


def _as_tuple(items: list[Any]) -> tuple[Any, ...]:
    return tuple(_tupled(items))


def _full_name(kind: type) -> str:
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"type {name}"


def _remedy(kind: type) -> str:
    if issubclass(kind, (set, frozenset)):
        return "convert with tuple(sorted(...))"
    if issubclass(kind, dict):
        return "convert with tuple(sorted(....items()))"
    if issubclass(kind, list):
        return "convert with tuple(...)"
    for base in (bool, int, float, str, bytes, tuple):
        if issubclass(kind, base):
            return f"convert with {base.__name__}(...)"
    convert = cast("Callable[..., Any] | None", getattr(kind, "__index__", None))
    if convert is not None:
        return "convert with int(...)"
    if issubclass(kind, (bytearray, memoryview)):
        return "convert with bytes(...)"
    return "convert with int(...), float(...), str(...) or tuple(...)"
