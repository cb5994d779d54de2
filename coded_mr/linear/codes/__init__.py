"""MDS codes: n coded rows, any k of which give back the k rows of a matrix.

`FieldCode` over GF(2^8) and GF(2^16) is exact; `RealCode` over the reals is accurate to a stated bound.
numpy and galois are imported where they are used.
"""

from coded_mr.linear.codes.exact import FieldCode
from coded_mr.linear.codes.field import Field, field
from coded_mr.linear.codes.product import kernels, multiply
from coded_mr.linear.codes.real import Decoded, RealCode

__all__ = ["Decoded", "Field", "FieldCode", "RealCode", "field", "kernels", "multiply"]
