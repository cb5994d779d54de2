"""The fields GF(2^8) and GF(2^16), as galois defines them, with tables for arithmetic on plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from coded_mr.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.unsignedinteger[Any]]

__all__ = ["Field", "field"]

# Conway polynomials: x^8+x^4+x^3+x^2+1 and x^16+x^5+x^3+x^2+1, with the primitive element x.
_POLYNOMIALS = {8: 0x1_1D, 16: 0x1_002D}


@dataclass(frozen=True)
class Field:
    """Describe GF(2^bits): `polynomial` is its irreducible polynomial, `generator` a primitive element.

    Elements are the integers 0..2^bits - 1, as in `galois`; arrays of them have the dtype `dtype`.
    """

    bits: int
    polynomial: int
    generator: int

    @property
    def order(self) -> int:
        """Return the number of elements."""
        return 1 << self.bits

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """Return the type of an element: uint8 or uint16."""
        import numpy as np

        return np.dtype(np.uint8 if self.bits == 8 else np.uint16)

    @property
    def galois(self) -> Any:
        """Return the class of `galois` arrays over this field."""
        return _galois().GF(self.order)

    def array(self, values: Any, what: str) -> Array:
        """Return values as a plain array of field elements, without a copy where possible.

        Takes unsigned and signed integers, and `galois` arrays over this field. Raises UsageError, naming
        `what`, for other types and for numbers that are no elements.
        """
        import numpy as np

        given = np.asanyarray(values)
        order = getattr(type(given), "order", self.order)
        if order != self.order:
            raise UsageError(f"{what} is over GF({order}), not over GF(2^{self.bits})")
        if given.dtype.kind not in "ui":
            raise UsageError(
                f"{what} has the type {given.dtype}: elements of GF(2^{self.bits}) are whole numbers"
            )
        plain: Array = given.view(np.ndarray)
        if plain.dtype == self.dtype:
            return plain
        if plain.size and not 0 <= int(plain.min()) <= int(plain.max()) < self.order:
            raise UsageError(
                f"{what} holds numbers from {plain.min()} to {plain.max()}:"
                f" elements of GF(2^{self.bits}) are 0..{self.order - 1}"
            )
        converted: Array = plain.astype(self.dtype)
        return converted

    @cached_property
    def exponentials(self) -> Array:
        """Return g^0, g^1, ... twice over, so that a sum of two logarithms needs no reduction."""
        import numpy as np

        powers = [1]
        while len(powers) < self.order - 1:
            powers.append(self._times_generator(powers[-1]))
        return np.array(powers * 2, dtype=self.dtype)

    @cached_property
    def logarithms(self) -> npt.NDArray[np.int64]:
        """Return the logarithm of each element to the base g; that of 0 is a number not to be used."""
        import numpy as np

        logarithms = np.zeros(self.order, dtype=np.int64)
        logarithms[self.exponentials[: self.order - 1]] = np.arange(self.order - 1)
        return logarithms

    def inverse(self, values: Array) -> Array:
        """Return the inverses of elements, none of them 0."""
        return self.exponentials[self.order - 1 - self.logarithms[values]]

    def _times_generator(self, value: int) -> int:
        """Return g times an element, by shifting and adding."""
        product, factor = 0, self.generator
        while factor:
            product ^= value * (factor & 1)
            value = value << 1 ^ self.polynomial * (value >> self.bits - 1)
            factor >>= 1
        return product


@lru_cache(maxsize=2)
def field(bits: int) -> Field:
    """Return GF(2^bits) with the polynomial that `galois` uses, which it does not load; bits is 8 or 16.

    Raises UsageError for another size.
    """
    if bits not in _POLYNOMIALS:
        raise UsageError(f"there is no GF(2^{bits}) here: T must be 8 or 16 bits")
    return Field(bits, _POLYNOMIALS[bits], generator=2)


def _galois() -> Any:
    """Return the module galois."""
    try:
        import galois
    except ImportError as error:
        raise UsageError(
            "arithmetic in finite fields needs the package galois, which is not installed:"
            " pip install 'coded_mr[linear]'"
        ) from error
    return galois
