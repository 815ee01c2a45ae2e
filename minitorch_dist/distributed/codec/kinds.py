"""The first byte of every value says what it is; the bytes after it are little-endian.

kind              followed by
NONE TRUE FALSE ELLIPSIS                    nothing
INT1 INT8         1 or 8 bytes, signed      BIG     u32 n, n bytes, signed
FLOAT COMPLEX     8 or 16 bytes
TEXT BYTES BYTEARRAY                        u32 n, n bytes
TUPLE LIST SET FROZENSET SIZE               u32 n, n values
DICT              u32 n, n pairs of values  ORDERED  the same, then a dict of its attributes
SLICE RANGE       3 values                  TIMEDELTA  3 × INT8 without their kind
DTYPE DEVICE NUMPY                          TEXT without its kind
ARRAY SCALAR TENSOR                         see `arrays`
NAMED             TEXT: module:qualified name
EXCEPTION         see `failures`            PICKLED  see `pickled`
SAME              u32: the n-th of the values of this message that have an identity
OUTSIDE           u32: the n-th buffer, as bytes
OTHER             u8: which of `others`, then what its own writer wrote
"""

from __future__ import annotations

import struct
from typing import Final

(
    NONE, TRUE, FALSE, ELLIPSIS, INT1, INT8, BIG, FLOAT, COMPLEX, TEXT, BYTES, BYTEARRAY, TUPLE, LIST,
    SET, FROZENSET, SIZE, DICT, ORDERED, SLICE, RANGE, TIMEDELTA, DTYPE, DEVICE, NUMPY, ARRAY, SCALAR,
    TENSOR, NAMED, EXCEPTION, PICKLED, SAME, OUTSIDE, OTHER,
) = range(34)  # fmt: skip

COUNT: Final = struct.Struct("<I")
KIND_AND_COUNT: Final = struct.Struct("<BI")
KIND_AND_BYTE: Final = struct.Struct("<Bb")
KIND_AND_INT: Final = struct.Struct("<Bq")
KIND_AND_FLOAT: Final = struct.Struct("<Bd")
BYTE: Final = struct.Struct("<b")
INT: Final = struct.Struct("<q")
FLOATS: Final = struct.Struct("<d")
COMPLEXES: Final = struct.Struct("<dd")
DELTA: Final = struct.Struct("<qqq")

MAX_DEPTH: Final = 200  # containers inside each other
MAX_META: Final = (1 << 32) - 1  # bytes of all that is not an outside buffer
MAX_BUFFERS: Final = 1 << 16
MAX_DIMENSIONS: Final = 64
MAX_EXTENT: Final = 1 << 48
OUTSIDE_FROM: Final = 1 << 15  # bytes from which on an array stays where it is
