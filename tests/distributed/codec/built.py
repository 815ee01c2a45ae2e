"""Messages that are built of the codec's words, each in a place where it may not belong."""

from __future__ import annotations

import struct
from random import Random

from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.mail import wire

NAMES = (
    "builtins:ValueError", "builtins:KeyError", "builtins:OSError", "builtins:UnicodeDecodeError",
    "builtins:BaseExceptionGroup", "builtins:ExceptionGroup", "builtins:SystemExit", "builtins:StopIteration",
    "builtins:print", "builtins:eval", "os:system", "subprocess:Popen", "this:d", "antigravity:x", "", ":", ".",
    "builtins:ValueError.__init__", "builtins:ValueError.__class__", "builtins:type", "builtins:object",
    "minitorch_dist.tensors.tensor:Tensor", "minitorch_dist.nn.parameter:Parameter",
    "minitorch_dist.nn.parameter:Parameter.__new__", "minitorch_dist.tensors.tensor:Tensor.add",
    "minitorch_dist.distributed.exceptions:PeerLost", "minitorch_dist.distributed.exceptions:DistMismatch",
)  # fmt: skip
TEXTS = (
    *NAMES, "x", "cpu", "cuda", "cuda:0", "cuda:" + "9" * 5000, "float32", "bfloat16", "<U3", "<U0", "<M8[s]",
    "<M8[99999999as]", "|O", "|V8", "array", "storage", "__class__", "__dict__", "__notes__", "add_note", "args",
    "\0", "é",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 127, 1 << 31, (1 << 48), (1 << 62), -(1 << 63), (1 << 63) - 1)
CLOSED = (kinds.NONE, kinds.TRUE, kinds.ELLIPSIS)


def count(random: Random, number: int) -> bytes:
    """A count that is nearly always right."""
    if random.random() < 0.02:
        number = random.choice([number + 1, 1 << 31, (1 << 32) - 1])
    return kinds.COUNT.pack(number)


def text(random: Random) -> bytes:
    octets = random.choice(TEXTS).encode()
    if random.random() < 0.05:
        octets = random.randbytes(random.randrange(6))
    return count(random, len(octets)) + octets


def octets(random: Random, nbytes: int) -> bytes:
    if random.random() < 0.03:
        return b"\1" + kinds.COUNT.pack(random.randrange(3))
    return b"\0" + random.randbytes(nbytes)


def array(random: Random, ndim: int | None = None) -> bytes:
    """A dtype, a shape, and as many bytes as that needs, or nearly."""
    code = random.choice([c for c, d in enumerate(wire.DTYPES) if d is not None] * 3 + [0, 200])
    dtype = wire.DTYPES[code] if code < len(wire.DTYPES) else None
    head = bytes([code]) + (text(random) if code == 0 else b"")
    ndim = random.choice([0, 1, 1, 2, 70]) if ndim is None else ndim
    shape = [random.choice([0, 1, 2, 3]) for _ in range(ndim)]
    if ndim and random.random() < 0.1:
        shape[0] = random.choice(NUMBERS)
    total = dtype.itemsize if dtype is not None else 12
    for extent in shape:
        total *= extent
    data = octets(random, total if 0 <= total < 1000 else 3)
    return head + struct.pack(f"<B{ndim}q", ndim, *shape) + data


def many(random: Random, depth: int, number: int) -> bytes:
    return b"".join(built(random, depth + 1) for _ in range(number))


def attributes(random: Random, depth: int) -> bytes:
    """Nearly always a dict with texts as keys."""
    if random.random() < 0.1:
        return built(random, depth + 1)
    pairs = random.choice([0, 0, 1, 2])
    items = (bytes([kinds.TEXT]) + text(random) + built(random, depth + 1) for _ in range(pairs))
    return bytes([kinds.DICT]) + kinds.COUNT.pack(pairs) + b"".join(items)


def named(random: Random) -> bytes:
    return bytes([kinds.NAMED]) + text(random)


def either(random: Random, usual: bytes, depth: int) -> bytes:
    return usual if random.random() < 0.9 else built(random, depth + 1)


def built(random: Random, depth: int = 0) -> bytes:
    """One value; what it holds is of any kind, also where that makes no sense."""
    kind = random.choice(CLOSED) if depth > 6 else random.randrange(kinds.OTHER + 2)
    head, some = bytes([kind]), random.choice([0, 1, 1, 2, 3])
    match kind:
        case kinds.INT1 | kinds.DEVICE | kinds.DTYPE | kinds.NUMPY | kinds.TEXT | kinds.NAMED:
            return head + (random.randbytes(1) if kind == kinds.INT1 else text(random))
        case kinds.INT8 | kinds.FLOAT:
            return head + kinds.INT.pack(random.choice(NUMBERS))
        case kinds.COMPLEX:
            return head + random.randbytes(16)
        case kinds.BIG:
            size = random.choice([0, 1, 9, 3000])
            return head + count(random, size) + random.randbytes(size)
        case kinds.BYTES | kinds.BYTEARRAY:
            return head + kinds.INT.pack(some) + octets(random, some)
        case kinds.TUPLE | kinds.LIST | kinds.SET | kinds.FROZENSET | kinds.SIZE:
            return head + count(random, some) + many(random, depth, some)
        case kinds.DICT | kinds.ORDERED:
            rest = attributes(random, depth) if kind == kinds.ORDERED else b""
            return head + count(random, some) + many(random, depth, 2 * some) + rest
        case kinds.SLICE | kinds.RANGE:
            return head + many(random, depth, 3)
        case kinds.TIMEDELTA:
            return head + struct.pack("<3q", *(random.choice(NUMBERS) for _ in range(3)))
        case kinds.ARRAY | kinds.SCALAR:
            return head + array(random, 0 if kind == kinds.SCALAR and random.random() < 0.8 else None)
        case kinds.TENSOR:
            flags = random.randrange(9)
            device = kinds.COUNT.pack(3) + b"cpu" if random.random() < 0.7 else text(random)
            kind_of = either(random, named(random), depth) if flags & 2 else b""
            rest = attributes(random, depth) if flags & 4 else b""
            return head + bytes([flags]) + device + kind_of + array(random) + rest
        case kinds.EXCEPTION:
            name = either(random, random.choice([b"\0", named(random)]), depth)
            arguments = bytes([kinds.TUPLE]) + kinds.COUNT.pack(some) + many(random, depth, some)
            words = text(random) + random.choice([bytes(4), text(random)])
            return head + name + either(random, arguments, depth) + attributes(random, depth) + words
        case kinds.PICKLED:
            return head + kinds.COUNT.pack(0) + kinds.INT.pack(some) + octets(random, some) + bytes(4)
        case kinds.SAME | kinds.OUTSIDE:
            return head + kinds.COUNT.pack(random.randrange(5))
        case kinds.OTHER:
            return head + bytes([random.randrange(4)]) + built(random, depth + 1)
    return head
