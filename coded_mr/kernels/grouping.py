"""Collect the values of each key, in the order in which they come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Any

from coded_mr.job import Key, Value
from coded_mr.kernels.serial import canonical, check_types, decode, encode, order_keys

__all__ = ["Groups"]

# Within one of these types == means equal canonical bytes; across types (1 == 1.0 == True) it does not.
_EXACT = frozenset({str, bytes, int})


class Groups:
    """Map each key to its values.

    While all keys are of one type out of str, bytes and int the keys themselves are the dictionary's;
    from the first other key on their canonical bytes are.
    """

    def __init__(self) -> None:
        self.pairs = 0
        self._kind: type | None = None
        self._values: defaultdict[Any, list[Value]] = defaultdict(list)
        self._keys: dict[bytes, Key] | None = None

    def __len__(self) -> int:
        return len(self._values)

    def add_all(self, pairs: Iterable[tuple[Key, Value]], not_a_pair: Callable[[object], Exception]) -> int:
        """Add pairs one by one and return how many came.

        not_a_pair makes the exception for an item that is not a tuple of two.  Raises KeyTypeError for
        a key that cannot travel, and whatever the iterable raises; self.pairs is exact then too.
        """
        before = held = self.pairs
        values, kind = self._values, self._kind
        pair: object = ("", None)
        try:
            for held, pair in enumerate(pairs, before + 1):  # noqa: B007
                if type(pair) is not tuple:
                    raise not_a_pair(pair)
                key, value = pair
                if type(key) is not kind:
                    key = self._key_of(key)
                    values, kind = self._values, self._kind
                values[key].append(value)
        except ValueError as error:
            # Raised here when the tuple was not of two; the user's own ValueErrors come from the iterable.
            if type(pair) is tuple and len(pair) != 2:
                raise not_a_pair(pair) from error
            raise
        finally:
            self.pairs = held
        return held - before

    def add_encoded(self, data: bytes | memoryview) -> None:
        """Add the keys and values of an intermediate value.  Raises PacketError when it is damaged."""
        keys, counts, values = decode(data)
        types = check_types(keys)
        if self._keys is None and types:
            if len(types) == 1 and types <= _EXACT and self._kind in (None, *types):
                (self._kind,) = types
            else:
                self._switch()
        if self._keys is not None:
            keys = [self._key_of(key) for key in keys]
        self.pairs += len(values)
        groups = self._values
        if counts is None:
            for key, value in zip(keys, values, strict=True):
                groups[key].append(value)
            return
        end = 0
        for key, count in zip(keys, counts, strict=True):
            groups[key].extend(values[end : (end := end + count)])

    def combine(self, combined: Callable[[Key, list[Value]], Value]) -> None:
        """Replace the values of every key that has several by the one that stands for them."""
        originals = self._keys
        for key, values in self._values.items():
            if len(values) > 1:
                values[:] = [combined(key if originals is None else originals[key], values)]
        self.pairs = len(self._values)

    def ordered(self) -> tuple[list[Key], list[list[Value]]]:
        """Return the keys in canonical order and, in parallel, their values."""
        if self._keys is None:
            keys = sorted(self._values)
            return keys, list(map(self._values.__getitem__, keys))
        originals = list(map(self._keys.__getitem__, self._values))
        order = order_keys(originals)
        items = sorted(zip(order, originals, self._values.values(), strict=True), key=itemgetter(0))
        return [key for _, key, _ in items], [values for _, _, values in items]

    def encoded(
        self, partition_ids: Callable[[list[Key]], Iterable[int]], partitions: int
    ) -> tuple[list[bytes | memoryview], list[int]]:
        """Return the bytes of each partition's keys and values, and how many values each has.

        partition_ids gives the partitions of keys.  Raises KeyTypeError for a value that cannot travel.
        """
        keys, lists = self.ordered()
        keys_of: list[list[Key]] = [[] for _ in range(partitions)]
        lists_of: list[list[list[Value]]] = [[] for _ in range(partitions)]
        for key, values, q in zip(keys, lists, partition_ids(keys), strict=True):
            keys_of[q].append(key)
            lists_of[q].append(values)
        data: list[bytes | memoryview] = []
        pairs: list[int] = []
        for some_keys, some_lists in zip(keys_of, lists_of, strict=True):
            flat = list(chain.from_iterable(some_lists))
            counts = list(map(len, some_lists)) if len(flat) > len(some_keys) else None
            data.append(encode(some_keys, counts, flat))
            pairs.append(len(flat))
        return data, pairs

    def pairs_in_order(self) -> Iterator[tuple[Key, Value]]:
        """Yield the pairs by key in canonical order, those of a key as they came."""
        for key, values in zip(*self.ordered(), strict=True):
            for value in values:
                yield key, value

    def _key_of(self, key: Key) -> Any:
        """Return what stands for a key in the dictionary, after switching to canonical bytes if need be."""
        if self._keys is None:
            kind = type(key)
            if kind in _EXACT and self._kind in (None, kind):
                self._kind = kind
                return key
            self._switch()
        name = canonical(key)
        assert self._keys is not None
        self._keys.setdefault(name, key)
        return name

    def _switch(self) -> None:
        keys = list(self._values)
        names = list(map(canonical, keys))
        self._keys = dict(zip(names, keys, strict=True))
        self._values = defaultdict(list, zip(names, self._values.values(), strict=True))
        self._kind = None
