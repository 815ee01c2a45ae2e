"""What goes in comes out: the same type, the same value, the same sharing."""

from __future__ import annotations

import re
import sys
import threading
import types
from collections import Counter, OrderedDict, namedtuple
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

import minitorch_dist as mtd
from minitorch_dist.distributed import codec
from minitorch_dist.distributed.codec import trust
from minitorch_dist.distributed.codec.failures import RemoteException, RemoteTraceback
from minitorch_dist.distributed.exceptions import RpcError, RpcTimeout, WorkerLost
from tests import strategies as ours
from tests.distributed.codec import values
from tests.distributed.codec.values import Point, Refused, anything


def encode(value: Any) -> tuple[bytearray, list[memoryview]]:
    return codec.encode(value, trust.of_peers())


def decode(meta: Any, buffers: Sequence[memoryview] = ()) -> Any:
    return codec.decode(meta, buffers, trust.of_peers())


def pack(value: Any) -> bytes:
    return codec.pack(value, trust.of_peers())


def unpack(octets: bytes) -> Any:
    return codec.unpack(octets, trust.of_peers())


def there_and_back(value: Any) -> Any:
    meta, buffers = encode(value)
    copies = [memoryview(bytearray(buffer)) for buffer in buffers]
    direct = decode(meta, copies)
    packed = unpack(pack(value))
    assert type(direct) is type(packed)
    return direct


@given(anything())
def test_plain_values(value: Any) -> None:
    found = there_and_back(value)
    assert found == value and type(found) is type(value)


def test_nan_and_signed_zero() -> None:
    assert repr(there_and_back([float("nan"), -0.0])) == "[nan, -0.0]"


@pytest.mark.parametrize("bits", [0, 6, 7, 8, 62, 63, 64, 65, 1000, 100_000])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_of_any_size(bits: int, sign: int) -> None:
    for value in (sign * (1 << bits), sign * ((1 << bits) - 1), sign * (1 << bits) - 1):
        assert there_and_back(value) == value


@given(ours.arrays())
def test_arrays(array: Any) -> None:
    found = there_and_back(array)
    assert found.dtype == array.dtype and found.shape == array.shape
    assert found.tobytes() == array.tobytes()
    assert found.flags.writeable and not np.shares_memory(found, array)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4)[::2, ::-1, 1::2],
        np.arange(12).reshape(3, 4).T,
        np.broadcast_to(np.float32(3), (4, 5)),
        np.zeros((0, 5)),
        np.zeros(()),
        np.ones(3, ml_dtypes.bfloat16),
        np.array(["a", "bcd"]),
        np.array([b"x"]),
        np.array(["2020-01-01"], "M8[D]"),
        np.arange(3, dtype=">i4"),
        np.ones((200, 300)),
        np.ones((200, 300))[:, ::3],
    ],
)
def test_arrays_of_every_layout(array: Any) -> None:
    found = there_and_back(array)
    assert found.dtype == array.dtype and np.array_equal(found, array)


def test_an_array_of_objects_is_pickled() -> None:
    array = np.array([1, "a", None], object)
    assert there_and_back(array).tolist() == [1, "a", None]


@pytest.mark.parametrize("dtype", [mtd.float32, mtd.bfloat16, mtd.float16, mtd.int64, mtd.bool])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (150, 150)])
def test_tensors(dtype: Any, shape: tuple[int, ...]) -> None:
    x = mtd.ones(shape).to(dtype)
    found = there_and_back(x)
    assert found.dtype is dtype and found.shape == x.shape and mtd.equal(found, x)
    assert not found.requires_grad and found._version == 0


def test_only_the_elements_of_a_view_are_sent() -> None:
    row = mtd.zeros(1000, 1000)[7]
    assert len(pack(row)) < 4100
    assert len(pack(mtd.zeros(()).expand(10))) < 200


def test_what_a_tensor_is_besides_its_elements() -> None:
    x = mtd.ones(2, requires_grad=True)
    assert there_and_back(x).requires_grad and there_and_back(x * 2).requires_grad
    weight = there_and_back(mtd.nn.Parameter(mtd.ones(2), requires_grad=False))
    assert type(weight) is mtd.nn.Parameter and not weight.requires_grad
    buffer = there_and_back(mtd.nn.Buffer(mtd.ones(2), persistent=False))
    assert type(buffer) is mtd.nn.Buffer and buffer.persistent is False


def test_devices_keep_their_labels() -> None:
    with mtd.cuda.simulated(2):
        x = mtd.ones(3, device="cuda:1")
        assert there_and_back(x).device == mtd.device("cuda:1")


def test_large_arrays_are_neither_copied_by_the_writer_nor_by_the_reader() -> None:
    x = mtd.ones(300, 300)
    meta, buffers = encode({"x": x, "small": mtd.ones(3)})
    assert len(buffers) == 1 and len(meta) < 200
    assert np.shares_memory(np.frombuffer(buffers[0], np.float32), x.array)
    arrived = memoryview(bytearray(buffers[0]))
    found = decode(meta, [arrived])
    assert np.shares_memory(found["x"].array, np.frombuffer(arrived, np.uint8))


def test_what_is_shared_within_a_message_stays_shared() -> None:
    x, array, inner = mtd.ones(3), np.ones(2), [1]
    point = Point(x, inner)
    found = there_and_back({"x": x, "y": [x, array, array], "inner": inner, "point": point, "p": point})
    assert found["x"] is found["y"][0] is found["point"].x
    assert found["y"][1] is found["y"][2]
    assert found["inner"] is found["point"].y or found["inner"] == found["point"].y
    assert found["point"] is found["p"]


def test_a_list_that_holds_itself() -> None:
    knot: list[Any] = [1]
    knot.append({"back": knot})
    found = there_and_back(knot)
    assert found[1]["back"] is found


def test_objects_with_tensors_inside() -> None:
    model = mtd.nn.Sequential(mtd.nn.Linear(3, 2), mtd.nn.ReLU())
    found = there_and_back(model)
    assert mtd.equal(found[0].weight, model[0].weight)
    assert type(found[0].weight) is mtd.nn.Parameter
    state = there_and_back(model.state_dict())
    assert type(state) is OrderedDict and state._metadata == model.state_dict()._metadata
    assert there_and_back(Counter("aab")) == Counter("aab")


Pair = namedtuple("Pair", "a b")


def test_subclasses_of_containers() -> None:
    found = there_and_back(Pair(1, [2]))
    assert type(found) is Pair and found == Pair(1, [2])


# -------------------------------------------------------------------------------- what cannot be sent


def cannot(value: Any) -> str:
    with pytest.raises(codec.Unsendable) as caught:
        encode(value)
    return str(caught.value)


def test_the_error_says_where_and_what() -> None:
    lock = threading.Lock()
    assert cannot([{"x": lambda: 0}]) == "[0]['x']: a lambda cannot be sent; use a module-level function"
    assert cannot((1, [2, (i for i in ())])).startswith("[1][1]: a generator cannot be sent")
    assert re.fullmatch(r"\['a'\]: a .*Point cannot be sent: .*_thread.lock.*", cannot({"a": Point(1, {"b": lock})}))

    def inner() -> None: ...

    assert "made inside a function" in cannot([inner])
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    assert "nested deeper than 200" in cannot(deep)


def test_an_object_that_knows_itself_and_cannot_be_sent() -> None:
    point = Point(threading.Lock(), None)
    point.y = point
    assert "lock" in cannot(point)


def test_a_writer_goes_on_after_what_could_not_be_sent() -> None:
    writer = codec.Writer()
    here = writer.mark()
    with pytest.raises(codec.Unsendable):
        writer.value([[1], [2, lambda: 0]])
    writer.back_to(here)
    writer.value([3])
    assert decode(writer.out) == [3]


def test_a_name_that_is_nobody_here() -> None:
    meta, _ = encode(values.twice)
    damaged = bytes(meta).replace(b"twice", b"never")
    with pytest.raises(codec.UnknownName, match="defined on both caller and callee modules"):
        decode(damaged)
    with pytest.raises(AttributeError):
        decode(damaged)
    with pytest.raises(codec.UnknownName, match="No module named"):
        decode(bytes(meta).replace(b"tests.", b"tosts."))


# ----------------------------------------------------------------------------------------- exceptions


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_exceptions_keep_type_arguments_and_text() -> None:
    found = there_and_back(raised(Refused("中文", 3)))
    assert type(found) is Refused and found.args == ("中文 was refused",)
    assert (found.who, found.when) == ("中文", 3)
    assert isinstance(found.__cause__, RemoteTraceback) and "in raised" in str(found.__cause__)
    key = there_and_back(raised(KeyError("k", 1)))
    assert type(key) is KeyError and key.args == ("k", 1)
    missing = there_and_back(raised(FileNotFoundError(2, "no", "file.txt")))
    assert missing.filename == "file.txt" and missing.errno == 2
    with pytest.raises(UnicodeError) as caught:
        "é".encode("ascii")
    assert there_and_back(caught.value).end == 1


def test_an_exception_that_nobody_else_knows() -> None:
    class Mine(Exception):
        pass

    found = there_and_back(raised(Mine("words", lambda: 0)))
    assert type(found) is RemoteException and "words" in str(found) and "Mine" in str(found)
    assert "in raised" in str(found.__cause__)


def test_attributes_that_cannot_be_sent_stay_behind() -> None:
    error = Refused("x", 1)
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    found = there_and_back(error)
    assert type(found) is Refused and found.when == 1 and not hasattr(found, "lock")


def test_an_exception_with_an_exception_inside() -> None:
    found = there_and_back(ValueError(KeyError("inner"), mtd.ones(2)))
    assert isinstance(found.args[0], KeyError) and mtd.equal(found.args[1], mtd.ones(2))


# ---------------------------------------------------------------------------------- without pickle


def test_without_pickle_plain_values_travel_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled, named = encode(Point(1, 2))[0], encode(values.twice)[0]
    monkeypatch.setenv(trust.VARIABLE, "0")
    for value in ({"a": [1, "b", timedelta(1)]}, mtd.ones(2), np.ones(3), ValueError("x")):
        assert repr(there_and_back(value)) == repr(value)
    with pytest.raises(codec.Unsendable, match="forbids pickle"):
        encode(Point(1, 2))
    with pytest.raises(codec.DamagedEncoding, match="forbids"):
        decode(pickled)
    with pytest.raises(codec.UnknownName, match="not registered"):
        decode(named)
    unknown = encode(Refused("x", 1))[0]
    assert type(decode(unknown)) is RemoteException


def test_what_is_registered_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trust.VARIABLE, "0")
    monkeypatch.setattr("minitorch_dist.distributed.codec.registry._known", {})
    codec.register(values.twice)
    assert decode(encode(values.twice)[0]) is values.twice


def test_no_module_is_imported_for_a_name_without_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trust.VARIABLE, "0")
    meta = encode("x")[0]
    meta = bytearray(b"\x1c") + meta[1:-1] + b"this:d"
    before = set(sys.modules)
    with pytest.raises(codec.CodecError):
        decode(meta)
    assert set(sys.modules) == before


def test_a_module_that_is_loaded_anew_has_new_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the course does, each time a lesson is checked."""
    for _ in range(2):
        module = types.ModuleType("loaded_anew")
        exec("def function(): pass", module.__dict__)
        monkeypatch.setitem(sys.modules, "loaded_anew", module)
        assert unpack(pack(module.function)) is module.function


def test_errors_of_calls_arrive_as_themselves_where_pickle_is_forbidden() -> None:
    for error in (RpcError("no"), RpcTimeout("late"), WorkerLost(3, "it was killed")):
        meta, buffers = codec.encode(error, trust.Trust.REGISTERED)
        found = codec.Reader(memoryview(meta), buffers, trust.Trust.REGISTERED).value()
        assert type(found) is type(error) and str(found) == str(error)


@pytest.mark.parametrize("kind", [RpcTimeout, WorkerLost])
def test_exceptions_with_two_native_parents(kind: type[Exception]) -> None:
    """Both are a RuntimeError, and a TimeoutError or ConnectionError, which are laid out differently."""
    raised = kind("late") if kind is RpcTimeout else kind(3, "it was killed")
    found = unpack(pack(raised))
    assert type(found) is kind and str(found) == str(raised)
    assert found.__dict__ == raised.__dict__
