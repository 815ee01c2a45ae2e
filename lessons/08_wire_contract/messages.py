"""A message: how an array travels, as bytes that any machine can read and no stranger can abuse.

    header    {"dtype": "<f4", "shape": [2, 3]}     JSON: what the bytes are
    payload   00 00 80 3f …                         the elements and nothing else, row by row

In a message all numbers are little-endian ("<"; "|" is for types of one byte, which have no order),
whatever the array was. Nothing is ever unpickled: `pickle.loads` runs what the sender wants.
"""

import json
import math
import struct

import numpy as np

from transports.contract import flat
from transports.queue import QueueTransport

DTYPES = (
    "|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4",
    "<i8", "<u8", "<f8", "<c8", "<c16",
)  # fmt: skip
MAX_HEADER = 1 << 12
MAX_PAYLOAD = 1 << 40
MAX_DIMENSIONS = 64


class BadMessage(ValueError):
    """These bytes are no message."""


def encode(array):
    """Header and payload, both bytes. They stay as they are when `array` is changed later."""
    if array.dtype.newbyteorder("<").str not in DTYPES:
        raise TypeError(f"a message cannot hold {array.dtype}, only {', '.join(DTYPES)}")
    # BLANK 1: the header (json.dumps(…).encode()), and the elements' bytes (about 4 lines)
    # The array may be big-endian, transposed, of no dimension, or empty.
    little = array.dtype.newbyteorder("<")
    header = {"dtype": little.str, "shape": list(array.shape)}
    return json.dumps(header).encode(), array.astype(little).tobytes()
    # END


def decode(header, payload):
    """The array, writable and with memory of its own.

    BadMessage if this is no message: that is known before memory is taken
    for as many elements as the header claims.
    """
    fields = read(header)
    dtype, shape = fields["dtype"], fields["shape"]
    # BLANK 2: refuse what `encode` would never write; then make the array (about 12 lines)
    # `dtype` and `shape` may be anything that JSON
    # knows. The payload is exactly as long as they say.
    # A shape has at most MAX_DIMENSIONS extents, and at most MAX_PAYLOAD bytes. [0, 2**62] has no
    # bytes, and is to be refused, too: for this limit count an extent of 0 as 1.
    # A byte of a bool is 0 or 1.
    if dtype not in DTYPES:
        raise BadMessage(f"there is no dtype {dtype!r} in messages")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise BadMessage(f"{shape!r} is no shape")
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise BadMessage(f"{shape!r} is no shape")
    size = np.dtype(dtype).itemsize
    if len(payload) != math.prod(shape) * size:
        raise BadMessage(f"{len(payload)} bytes are not {shape} of {dtype}")
    if math.prod(max(extent, 1) for extent in shape) * size > MAX_PAYLOAD:
        raise BadMessage(f"{shape} is too much, even if a part of it is nothing")
    if dtype == "|b1" and max(payload, default=0) > 1:
        raise BadMessage("a byte of a bool is 0 or 1")
    return np.frombuffer(payload, dtype).reshape(shape).copy()
    # END


def read(header):
    """The content of the JSON: a dict with a dtype and a shape, which nobody has checked yet."""
    if len(header) > MAX_HEADER:
        raise BadMessage(f"a header of {len(header)} bytes, and at most {MAX_HEADER} are allowed")
    try:  # as text in UTF-8: given bytes, json.loads would guess, and take UTF-16, too
        fields = json.loads(bytes(header).decode(), object_pairs_hook=each_key_once)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the header is no JSON: {error}") from None
    if not isinstance(fields, dict) or fields.keys() != {"dtype", "shape"}:
        raise BadMessage(f"a header has a dtype and a shape, this is {fields!r}")
    return fields


def each_key_once(pairs):
    """A JSON object as a dict.

    Of two equal keys one reader takes the first,
    another the last: so neither counts.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(f"a key comes twice in {pairs}")
    return fields


# ------------------------------------------------------------------------------ what it is good for


class MessageTransport(QueueTransport):
    """The library's transport between threads, with messages in the form of this lesson."""

    scheme = "messages"

    def connect(self, store, inbox, timeout=None):
        super().connect(store, Opener(inbox), timeout)

    def send(self, dst, header, payload):
        body = flat(header, payload)
        both = struct.pack("<I", len(header)) + header + body
        super().send(dst, *encode(np.frombuffer(both, np.uint8)))


class Opener:
    """An inbox in front of the real one: it takes messages in, and hands on what was in them."""

    def __init__(self, inbox):
        self.inbox, self.lost = inbox, inbox.lost

    def sink(self, src, header, nbytes):
        return Sheet(self.inbox, src, header, nbytes)


class Sheet:
    """Where a message's payload goes, piece by piece. After the last one it is opened."""

    def __init__(self, inbox, src, header, nbytes):
        self.inbox, self.src, self.header, self.nbytes = inbox, src, header, nbytes
        self.payload = bytearray()

    def space(self):
        return None

    def write(self, piece):
        self.payload += piece
        if len(self.payload) == self.nbytes:
            both = decode(self.header, self.payload).tobytes()
            start = 4 + struct.unpack_from("<I", both)[0]
            body = memoryview(both)[start:]
            sink = self.inbox.sink(self.src, both[4:start], len(body))
            if body:
                sink.write(body)
