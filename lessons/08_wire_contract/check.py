"""Lesson 08: what goes in comes out; the same bytes everywhere; nothing that a stranger made up."""

import traceback
import tracemalloc

import messages
import numpy as np
from hypothesis import given, settings
from messages import BadMessage, decode, encode

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.launching import launch
from minitorch_dist.testing import check_transport, strategies
from mtd.course import lab, lamp

KINDS = tuple(np.dtype(name) for name in messages.DTYPES)
OFTEN = settings(lab.learn, max_examples=150)


def told(array):
    """An array in words."""
    order = {"<": "little", ">": "big", "=": "little", "|": "no"}[array.dtype.byteorder]
    lies = "row by row" if array.flags.c_contiguous else f"with strides {array.strides}"
    return f"{array.tolist()} ({array.dtype.name}, shape {array.shape}, {order}-endian, {lies})"


# --------------------------------------------------------------------------------------------- lamps


@lamp("correct")
def right():
    """Any array: of no dimension, empty, transposed, backwards, big-endian; every dtype."""
    for name in ("<f4", ">f4", "<i8", "|b1"):
        for array in (
            np.array(1),
            np.array([[1, 0, 1], [0, 0, 1]]),
            np.empty((0, 3)),
            np.empty((2, 0)),
        ):
            same(array.astype(name))
    same(np.arange(6.0).reshape(2, 3).T)
    same(np.ones([1] * messages.MAX_DIMENSIONS, "<f4"))  # the most that is allowed
    same(np.empty((0, messages.MAX_PAYLOAD), "|u1"))
    drawn()
    try:
        encode(np.array([object()]))
    except TypeError:
        return
    raise AssertionError("an array of objects was put into a message: that sends their addresses")


@OFTEN
@given(strategies.arrays(dtypes=[*KINDS, *(kind.newbyteorder(">") for kind in KINDS)]))
def drawn(array):
    same(array)


def same(array):
    header, payload = encode(array)
    assert isinstance(header, bytes), f"encode gives a header of {type(header).__name__}, not bytes"
    assert len(payload) == array.nbytes, (
        f"{told(array)} has {array.nbytes} bytes, and the payload, of type {type(payload).__name__}, has the length "
        f"{len(payload)}; give bytes"
    )
    found = decode(header, payload)
    assert found.shape == array.shape, (
        f"{told(array)} comes out with shape {found.shape}; its header is {header}"
    )
    assert found.dtype == array.dtype.newbyteorder("="), (
        f"{told(array)} comes out as {found.dtype.str}, expected {array.dtype.newbyteorder('=').str}"
    )
    assert np.array_equal(found, array), f"{told(array)} comes out as {found.tolist()}"


@lamp("same everywhere", star=2)
def same_everywhere():
    """The bytes are those of the page, so that a program in any language can read them."""
    for array, dtype, shape, wanted in (
        (np.array([[1, -2], [3, 4]], "<i2"), "<i2", [2, 2], "0100feff03000400"),
        (np.array([1, -2], ">i2"), "<i2", [2], "0100feff"),
        (np.array([[1, 2], [3, 4]], "|u1").T, "|u1", [2, 2], "01030204"),
        (np.array(1.5, "<f4"), "<f4", [], "0000c03f"),
        (np.array([], ">f8"), "<f8", [0], ""),
    ):
        header, payload = encode(array)
        found = messages.read(header)
        assert found == {"dtype": dtype, "shape": shape}, (
            f"the header of {told(array)} says {found}, and should say {{'dtype': {dtype!r}, 'shape': {shape}}}"
        )
        assert bytes(payload).hex() == wanted, (
            f"the payload of {told(array)} is {bytes(payload).hex() or 'empty'}, and should be {wanted or 'empty'}"
        )


@lamp("frozen")
def frozen():
    """Sender, message and receiver share no memory (line 4 of the contract)."""
    for array in (np.arange(5.0), np.array(7), np.arange(6).reshape(2, 3).T):
        before = decode(*encode(array))
        header, payload = encode(array)
        array[...] = 99
        assert np.array_equal(decode(header, payload), before), (
            f"after encode the array was overwritten, and the message changed with it: {told(before)} "
            f"comes out as {decode(header, payload).tolist()}"
        )
        paper = bytearray(payload)
        found = decode(header, paper)
        assert found.flags.writeable, f"what comes out of {told(before)} cannot be written to"
        paper[:] = bytes(len(paper))
        assert np.array_equal(found, before), (
            "after decode the payload was overwritten, and the array with it"
        )


@lamp("refuses", star=2)
def refuses():
    """BadMessage, and no other error; and nothing is allocated that is as large as a stranger says."""
    tracemalloc.start()
    try:
        for header, payload, what in hostile():
            tracemalloc.reset_peak()
            found = []
            try:
                found.append(decode(header, payload))
            except BadMessage:
                pass
            except Exception as error:
                said = f"{type(error).__name__}: {error}".removesuffix(": ")
                does = f"raises {said}, expected a BadMessage"
                if not told_by_the_learner(error):
                    does = f"gets past your checks; numpy raises {said}"
                raise AssertionError(
                    f"{what}: {header[:70]} with {len(payload)} bytes {does}"
                ) from error
            if found:
                taken = f"gives {found[0]!r}"
                if isinstance(found[0], np.ndarray):
                    taken = f"is taken for {told(found[0])}"
                elif isinstance(found[0], BadMessage):
                    taken += " and does not raise it"
                raise AssertionError(
                    f"{what}: {header[:70]} with {len(payload)} bytes {taken}, expected a BadMessage"
                )
            peak = tracemalloc.get_traced_memory()[1]
            assert peak < 1 << 20, (
                f"{what}: {peak} bytes were allocated for {header[:70]} before it was refused"
            )
    finally:
        tracemalloc.stop()


def told_by_the_learner(error):
    """Whether it was raised in a line `raise …` or `assert …`."""
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    return "raise " in line or line.startswith("assert ")


def hostile():
    """Headers and payloads that no `encode` writes."""

    def message(dtype='"<f4"', shape="[2]"):
        return f'{{"dtype": {dtype}, "shape": {shape}}}'.encode()

    for dtype in (
        "O",
        "|O",
        "<U4",
        "<M8[s]",
        "|V8",
        ">f4",
        "float32",
        "<f4,<f4",
        "",
        "__import__('os')",
    ):
        yield message(f'"{dtype}"'), bytes(8), "a dtype that messages do not have"
    for dtype in ('["<f4"]', "null", "4", '{"<f4": 1}'):
        yield message(dtype), bytes(8), "a dtype that is no text"
    for shape in ("[-2]", "[-1, -2]", "[-1]", "[2, -1]"):
        yield message(shape=shape), bytes(8), "a negative extent"
    for shape in ("[2.0]", "[true, 2]", '["2"]', "[[2]]", "2", '"2"', "null", "[null]", '{"2": 2}'):
        yield message(shape=shape), bytes(8), "a shape that is not a list of whole numbers"
    for shape in ("[4611686018427387904]", "[1099511627776]"):
        yield message(shape=shape), bytes(8), "a length of 2^62, or of 2^40, that is not there"
    for shape in ("[4294967296, 4294967296]", "[65536, 65536, 65536, 65536]"):
        yield message(shape=shape), b"", "extents whose product is 2^64, which is 0 in 64 bits"
    yield (
        message(shape="[0, 4611686018427387904, 4]"),
        b"",
        "no elements, but extents beyond all memory",
    )
    yield message(shape=str([1] * 65)), bytes(4), "65 dimensions"
    for nbytes in (0, 7, 9, 16):
        yield message(), bytes(nbytes), "a payload that is cut off, or too long"
    for shape in ("[]", "[0]"):
        yield message(shape=shape), bytes(8), "a payload that is too long"
    for payload in (b"\2\0", b"\1\xff"):
        yield message('"|b1"'), payload, "a bool that is neither 0 nor 1"
    for code in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig"):
        yield message().decode().encode(code), bytes(8), f"a header in {code}"
    yield message()[:-1] + b', "shape": [2]}', bytes(8), "a key that comes twice"


@lamp("as a transport", star=3)
def as_a_transport():
    """The library's kit holds the transport of your messages to the contract; then all_reduce uses it."""
    check_transport(
        lambda rank, size, folder: messages.MessageTransport(rank, size, f"messages://{folder}"),
        world_sizes=(1, 3),
        only=["connect", "sizes", "interleaved", "reuse", "arguments"],
    )

    def sums():
        tensor = torch.arange(5, dtype=torch.float32) * (dist.get_rank() + 1)
        dist.all_reduce(tensor)
        return tensor.tolist()

    with lab.threads_over("messages:MessageTransport"):
        for size in (1, 2, 3, 5):
            total = size * (size + 1) // 2
            expected = [[0.0, 1.0 * total, 2.0 * total, 3.0 * total, 4.0 * total]] * size
            found = launch(sums, size, "queue://", timeout=20)
            assert found == expected, (
                f"{size} ranks, all_reduce over messages: {found}, expected {expected}"
            )


# ----------------------------------------------------------------------------- questions, and a picture


def payload_of_eight_floats():
    return len(encode(np.zeros((2, 4), np.float32))[1])


def elements_of_no_dimension():
    return decode(*encode(np.array(3.0))).size


def picture():
    """One message, byte by byte."""
    array = np.array([[1, -2], [0.5, 3]], ">f4")
    header, payload = encode(array)
    lines = ["[[1, -2], [0.5, 3]], float32, big-endian in memory, as a message", ""]
    lines.append(f"header, {len(header)} bytes of JSON")
    for at in range(0, len(header), 16):
        row = header[at : at + 16]
        lines.append(f"  {at:02x}   {row.hex(' '):<47}   {row.decode()}")
    lines += ["", f"payload, {len(payload)} bytes, row by row, the small end first"]
    for number, place in enumerate(np.ndindex(array.shape)):
        cell = bytes(payload)[4 * number : 4 * number + 4]
        lines.append(f"  {4 * number:02x}   {cell.hex(' '):<47}   {list(place)} = {array[place]:g}")
    return "\n".join(lines)
