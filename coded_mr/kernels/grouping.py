"""Collect the values of each key, in the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

from coded_mr.errors import KeyTypeError
from coded_mr.job import Key, Value
from coded_mr.kernels.serial import canonical, check_types, decode, encode, order_keys, shown

__all__ = ["Groups"]

# Within one of these types == means equal canonical bytes; across types (1 == 1.0 == True) it does not.
_EXACT = frozenset({str, bytes, int})

# Pairs that are looked at together: fewer than make the garbage collector run.
_TOGETHER = 1 << 8

_FIRST, _SECOND = itemgetter(0), itemgetter(1)
_NOTHING = object()


class Groups:
    """Map each key to its values.

    While all keys are of one type out of str, bytes and int the keys themselves are the dictionaries';
    from the first other key on their canonical bytes are. A key's only value is held as it is, several are
    in a list, which no value is: to make a list for each key takes longer than all the rest.
    """

    def __init__(self) -> None:
        self.pairs = 0
        self._kind: type | None = None
        self._held: dict[Any, Value | list[Value]] = {}
        self._several: list[Any] = []  # the names that have a list
        self._keys: dict[bytes, Key] | None = None

    def __len__(self) -> int:
        return len(self._held)

    def add_all(self, pairs: Iterable[tuple[Key, Value]], not_a_pair: Callable[[object], Exception]) -> int:
        """Add pairs as they come and return how many did.

        not_a_pair makes the exception for an item that is not a tuple of two.  Raises KeyTypeError for
        a key that cannot travel, or a list as value, and whatever the iterable raises; self.pairs is
        exact then too.
        """
        before = self.pairs
        source = iter(pairs)
        may_be_new = True
        while True:
            some: list[tuple[Key, Value]] = []
            try:
                some.extend(islice(source, _TOGETHER))
            finally:
                # What came before the iterable raised counts, and may be wrong itself.
                self.pairs += len(some)
                may_be_new = self._add_checked(some, not_a_pair, may_be_new)
            if not some:
                return self.pairs - before

    def add_encoded(self, data: bytes | memoryview) -> None:
        """Add the keys and values of an intermediate value.  Raises PacketError when it is damaged."""
        keys, counts, values = decode(data)
        names = self._names(keys, check_types(keys))
        self.pairs += len(values)
        if counts is None and not self._held:
            self._held.update(zip(names, values, strict=True))
            return
        owners = names if counts is None else chain.from_iterable(map(repeat, names, counts))
        self._add(zip(owners, values, strict=True))

    def combine(self, combined: Callable[[Key, list[Value]], Value]) -> None:
        """Replace the values of every key that has several by the one that stands for them.

        Raises KeyTypeError when that is a list, and whatever combined raises.
        """
        held = self._held
        for name, key in zip(self._several, self._originals(self._several), strict=True):
            held[name] = value = combined(key, held[name])
            if type(value) is list:
                raise _list_refused(key, value)
        self._several = []
        self.pairs = len(held)

    def ordered(self) -> tuple[list[Key], Iterator[list[Value]]]:
        """Return the keys in canonical order and, in parallel, their values."""
        names = self._in_order(self._held)
        return self._originals(names), self._lists(names)

    def encoded(
        self, partition_ids: Callable[[list[Key]], Iterable[int]], partitions: int
    ) -> tuple[list[bytes | memoryview], list[int]]:
        """Return the bytes of each partition's keys and values, and how many values each has.

        partition_ids gives the partitions of keys.  Raises KeyTypeError for a value that cannot travel.
        """
        names = list(self._held)
        names_of: list[list[Any]] = [[] for _ in range(partitions)]
        for name, q in zip(names, partition_ids(self._originals(names)), strict=True):
            names_of[q].append(name)
        data: list[bytes | memoryview] = []
        pairs: list[int] = []
        for some in map(self._in_order, names_of):
            counts, values = self._counts_and_values(some)
            data.append(encode(self._originals(some), counts, values))
            pairs.append(len(values))
        return data, pairs

    def pairs_in_order(self) -> Iterator[tuple[Key, Value]]:
        """Yield the pairs by key in canonical order, those of a key as they came."""
        for key, values in zip(*self.ordered(), strict=True):
            for value in values:
                yield key, value

    def _add_checked(
        self, pairs: list[tuple[Key, Value]], not_a_pair: Callable[[object], Exception], may_be_new: bool
    ) -> bool:
        """Add pairs that may be none; return whether all keys were new, tried only if they may be."""
        if not pairs:
            return False
        if set(map(type, pairs)) != {tuple} or set(map(len, pairs)) != {2}:
            raise not_a_pair(next(item for item in pairs if type(item) is not tuple or len(item) != 2))
        if list in set(map(type, map(_SECOND, pairs))):
            raise next(_list_refused(key, value) for key, value in pairs if type(value) is list)
        keys = list(map(_FIRST, pairs))
        names = self._names(keys, set(map(type, keys)))
        if names is not keys:
            pairs = [(name, value) for name, (_, value) in zip(names, pairs, strict=True)]
        if may_be_new:
            new = dict(pairs)
            if len(new) == len(pairs) and new.keys().isdisjoint(self._held.keys()):
                self._held.update(new)
                return True
        self._add(pairs)
        return False

    def _add(self, pairs: Iterable[tuple[Any, Value]]) -> None:
        held, several = self._held, self._several
        get = held.get
        for name, value in pairs:
            have = get(name, _NOTHING)
            if type(have) is list:
                have.append(value)
            elif have is _NOTHING:
                held[name] = value
            else:
                held[name] = [have, value]
                several.append(name)

    def _names(self, keys: list[Key], types: set[type]) -> list[Any]:
        """Return what stands for keys of these types in the dictionaries: themselves, or canonical bytes."""
        if self._keys is None:
            if not types or (len(types) == 1 and types <= _EXACT and self._kind in (None, *types)):
                self._kind = next(iter(types), self._kind)
                return keys
            self._switch()
        assert self._keys is not None
        names = list(map(canonical, keys))
        for name, key in zip(names, keys, strict=True):
            self._keys.setdefault(name, key)
        return names

    def _switch(self) -> None:
        """Let canonical bytes stand for the keys from now on."""
        names = {key: canonical(key) for key in self._held}
        self._keys = {name: key for key, name in names.items()}
        self._held = {names[key]: have for key, have in self._held.items()}
        self._several = [names[key] for key in self._several]

    def _in_order(self, names: Iterable[Any]) -> list[Any]:
        """Return names in the canonical order of their keys."""
        if self._keys is None:
            return sorted(names)
        known = list(names)
        order = order_keys(self._originals(known))
        return [name for _, name in sorted(zip(order, known, strict=True), key=_FIRST)]

    def _originals(self, names: list[Any]) -> list[Key]:
        return names if self._keys is None else list(map(self._keys.__getitem__, names))

    def _lists(self, names: Iterable[Any]) -> Iterator[list[Value]]:
        return (have if type(have) is list else [have] for have in map(self._held.__getitem__, names))

    def _counts_and_values(self, names: list[Any]) -> tuple[list[int] | None, list[Value]]:
        """Return how many values each key has (None: one each), and all their values."""
        if not self._several:
            return None, list(map(self._held.__getitem__, names))
        lists = list(self._lists(names))
        values = list(chain.from_iterable(lists))
        return (list(map(len, lists)) if len(values) > len(lists) else None), values


def _list_refused(key: Key, value: object) -> Exception:
    """Return what is raised for every value that cannot travel, for one that would be taken for several."""
    try:
        canonical(value, f"the value {shown(value)} of key {shown(key)}")
    except KeyTypeError as error:
        return error
    raise AssertionError("a list travelled")
