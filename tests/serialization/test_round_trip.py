"""What is saved is what is loaded: values, types, sharing, strides, places."""

from __future__ import annotations

import io
import json
import math
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitorch_dist as mtd
from minitorch_dist.nn.parameter import Parameter
from tests.strategies import arrays


def again(obj: Any, **options: Any) -> Any:
    file = io.BytesIO()
    mtd.save(obj, file)
    file.seek(0)
    return mtd.load(file, **options)


def alike(a: Any, b: Any) -> bool:
    """Equality that looks into tensors, knows nan, and insists on types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, mtd.Tensor):
        a, b = a.array, b.array
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (set, frozenset)):
        return bool(a == b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return repr(a) == repr(b)


# ----------------------------------------------------------------------------------------- structure

KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.binary(),
    st.tuples(st.integers(), st.text()),
    st.floats(allow_nan=False),
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.sampled_from([mtd.float16, mtd.device("cuda:1"), mtd.Size([2, 3])]),
    arrays(dtype=np.float32).map(mtd.from_numpy),
    arrays(dtype=np.int64).map(mtd.from_numpy),
    arrays(dtype=np.uint16),
    st.sampled_from([np.float32(1.5), np.int8(-3), np.bool_(True)]),
)
TREES = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.dictionaries(st.text(), inner, max_size=4).map(OrderedDict),
    ),
    max_leaves=12,
)


@given(TREES)
def test_any_structure(tree: Any) -> None:
    assert alike(again(tree), tree)


@pytest.mark.parametrize(
    "value",
    [
        10**4000,
        -(2**63),
        2**63,
        -0.0,
        math.inf,
        -math.inf,
        5e-324,
        "\ud800 lone",
        "\x00",
        b"",
        {1, 2, 3},
        frozenset("a"),
        Counter("aab"),
        slice(1, None, -2),
        {},
        [],
        (),
        {None: 0, True: 1, 2.5: 2, (1, (2, "x")): 3, mtd.float32: 4},
        defaultdict(int, a=1),
        {"__metadata__": mtd.ones(2)},
        {"\ud800": mtd.ones(1), "unnamed": mtd.zeros(1)},
        {1: mtd.zeros(1), "1": mtd.ones(1)},
        {"a.b": mtd.ones(1), "a": {"b": mtd.zeros(1)}},
        OrderedDict(z=mtd.ones(1), a=2),
    ],
    ids=lambda v: ascii(v)[:20].replace("\\x00", "NUL"),
)
def test_special_values(value: Any) -> None:
    loaded = again(value)
    assert alike(loaded, value)
    if isinstance(value, defaultdict):
        assert loaded.default_factory is value.default_factory


def test_integers_of_any_size() -> None:
    assert again([10**5000])[0] == 10**5000


def test_a_set_of_tensors_and_a_dict_keyed_by_tensors() -> None:
    x, y = mtd.ones(1), mtd.zeros(2)
    loaded = again({"set": {x, y}, "by": {x: 1, y: 2}, "x": x})
    assert loaded["x"] in list(loaded["by"]) and loaded["by"][loaded["x"]] == 1
    assert len(loaded["set"]) == 2


def test_a_state_dict_keeps_the_versions_of_its_layers() -> None:
    state: Any = OrderedDict(weight=mtd.ones(2))
    state._metadata = OrderedDict([("", {"version": 1})])
    assert again(state)._metadata == state._metadata


def test_arrays_of_numpy_are_writable_and_their_own() -> None:
    x = np.arange(6, dtype=np.complex64).reshape(2, 3).T
    loaded = again({"x": x, "part": x[1:]})
    assert loaded["x"].strides == x.strides
    loaded["x"][1, 0] = 99
    assert loaded["part"][0, 0] == 99 and x[1, 0] == 1


# ------------------------------------------------------------------------------------------- tensors

KINDS = [mtd.float16, mtd.bfloat16, mtd.float32, mtd.float64, mtd.uint8, mtd.int8, mtd.int16,
         mtd.int32, mtd.int64, mtd.bool]  # fmt: skip


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3), (5, 1, 3)], ids=str)
def test_dtypes_and_shapes(dtype: Any, shape: tuple[int, ...]) -> None:
    x = mtd.arange(math.prod(shape)).reshape(shape).to(dtype)
    loaded = again([x])[0]
    assert alike(loaded, x) and loaded.stride() == x.stride()


@given(arrays(dtype=np.float32))
def test_strides_are_kept(array: Any) -> None:
    x = mtd.from_numpy(array)
    loaded = again({"x": x})["x"]
    assert alike(loaded, x)
    if x.numel() > 1:
        assert loaded.stride() == x.stride()


def test_double_complex_numbers_are_pairs_for_other_readers(tmp_path: Any) -> None:
    """safetensors has no complex128: others read pairs of F64, and we read the numbers."""
    z = mtd.tensor([[1 + 2j, 3 - 1j]], dtype=mtd.complex128)
    saved = {"z": z, "zt": z.t(), "one": np.complex128(1 - 1j), "none": z[:0], "x": mtd.ones(2)}
    mtd.save(saved, tmp_path / "file")
    back = mtd.load(tmp_path / "file")
    assert back["z"].dtype is mtd.complex128 and back["z"].tolist() == z.tolist()
    assert back["zt"].tolist() == z.t().tolist() and back["one"] == 1 - 1j
    assert back["none"].shape == (0, 2) and back["x"].tolist() == [1, 1]
    assert back["zt"]._base is None and back["zt"].data_ptr() == back["z"].data_ptr()
    content = (tmp_path / "file").read_bytes()
    length = int.from_bytes(content[:8], "little")
    entry = json.loads(content[8 : 8 + length])["z"]
    start, stop = (8 + length + offset for offset in entry["data_offsets"])
    assert entry["dtype"] == "F64" and entry["shape"] == [1, 2, 2]
    assert np.frombuffer(content[start:stop]).tolist() == [1, 2, 3, -1]


def test_empty_pieces() -> None:
    base = mtd.arange(20.0).reshape(4, 5)
    pieces = [base.t()[:0], base[:, 5:], base[4:], base[::2, ::3][:, :0], base]
    for loaded, piece in zip(again(pieces), pieces, strict=True):
        assert alike(loaded, piece)


def test_requires_grad_parameters_and_identity() -> None:
    p = Parameter(mtd.ones(2, 2))
    frozen = Parameter(mtd.ones(2), requires_grad=False)
    x = mtd.ones(3, requires_grad=True)
    loaded = again({"p": p, "frozen": frozen, "x": x, "twice": [p, p], "plain": mtd.ones(1)})
    assert type(loaded["p"]) is Parameter and loaded["p"].requires_grad and loaded["p"].is_leaf
    assert type(loaded["frozen"]) is Parameter and not loaded["frozen"].requires_grad
    assert loaded["x"].requires_grad and not loaded["plain"].requires_grad
    assert loaded["twice"][0] is loaded["twice"][1] is loaded["p"]
    result = again((x * 2,))[0]
    assert result.requires_grad and result.is_leaf  # as in torch


def test_views_come_back_as_views() -> None:
    base = mtd.arange(24.0).reshape(4, 6)
    obj = {
        "row": base[1],
        "base": base,
        "t": base.t(),
        "corner": base[:2, 3:],
        "flat": base.view(-1),
        "step": base[::2, ::3],
        "one": base[3, 5],
        "none": base[4:],
    }
    loaded = again(obj)
    pointers = {v.untyped_storage().data_ptr() for k, v in loaded.items() if k != "none"}
    assert len(pointers) == 1
    for name, view in obj.items():
        assert alike(loaded[name], view) and (loaded[name].stride() == view.stride() or not view.numel())
    loaded["base"][1, 3] = 100
    loaded["base"][3, 5] = 200
    assert loaded["row"][3] == loaded["t"][3, 1] == loaded["corner"][1, 0] == 100
    assert loaded["one"] == 200 and loaded["flat"][9] == 100


def test_pieces_share_memory_that_none_of_them_covers() -> None:
    base = mtd.arange(24.0).reshape(4, 6)
    a, b = again([base[:, :4], base[:, 2:]])
    a[0, 3] = -1
    assert b[0, 1] == -1 and a.stride() == b.stride() == (6, 1)
    apart = io.BytesIO()
    mtd.save([base[0], base[3]], apart)  # touch nothing in common: no memory in between is stored
    data = apart.getvalue()
    assert data.count(b"storage") == 0
    assert len(data) == 8 + int.from_bytes(data[:8], "little") + 2 * base[0].nbytes


def test_other_types_may_look_at_the_same_memory() -> None:
    x = np.arange(4, dtype=np.float32)
    loaded = again([mtd.from_numpy(x), mtd.from_numpy(x.view(np.int32))])
    loaded[0][0] = 1.0
    assert loaded[1][0] == 0x3F800000


def test_reversed_arrays() -> None:
    x = np.arange(10)
    loaded = again([x[::-1], x[7:2:-2], x])
    assert [a.tolist() for a in loaded] == [x[::-1].tolist(), [7, 5, 3], x.tolist()]
    loaded[2][7] = 0
    assert loaded[0][2] == 0 and loaded[1][0] == 0


def test_a_piece_of_something_large_is_stored_without_the_rest() -> None:
    file = io.BytesIO()
    mtd.save([mtd.zeros(1000, 1000)[:, 3], mtd.ones(1000, 1000)[5]], file)
    assert len(file.getvalue()) < 10_000  # torch would write 8 MB
    file = io.BytesIO()
    mtd.save([mtd.ones(1).expand(1000, 1000)], file)
    assert len(file.getvalue()) < 1000
    file.seek(0)
    assert mtd.load(file)[0].stride() == (0, 0)


def test_several_objects_in_one_file() -> None:
    file = io.BytesIO()
    for value in (mtd.ones(3), {"a": 1}, [mtd.zeros(2, 2)]):
        mtd.save(value, file)
    file.seek(0)
    assert mtd.load(file).tolist() == [1, 1, 1]
    assert mtd.load(file) == {"a": 1}
    assert mtd.load(file)[0].shape == (2, 2)


def test_a_stream_that_cannot_seek() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self, content: bytes) -> None:
            self.content = io.BytesIO(content)

        def readable(self) -> bool:
            return True

        def readinto(self, into: Any) -> int:
            return self.content.readinto(into)

    file = io.BytesIO()
    mtd.save({"x": mtd.arange(5)}, file)
    assert mtd.load(Pipe(file.getvalue()))["x"].tolist() == [0, 1, 2, 3, 4]


# -------------------------------------------------------------------------- optimizers and schedules


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_training_continues_from_a_file(name: str) -> None:
    def start() -> tuple[Any, Any, Any]:
        weight = Parameter(mtd.arange(6.0).reshape(2, 3))
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(mtd.optim, name)([weight], lr=0.1, **options)
        schedule = mtd.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3, 3])
        return weight, optimizer, schedule

    def train(weight: Any, optimizer: Any, schedule: Any, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            (weight * weight).sum().backward()
            optimizer.step()
            schedule.step()

    through = start()
    train(*through, 5)
    half = start()
    train(*half, 2)
    saved = again(
        {
            "model": {"weight": half[0]},
            "optimizer": half[1].state_dict(),
            "epoch": 2,
            "schedule": half[2].state_dict(),
            "rng": mtd.get_rng_state(),
        }
    )
    resumed = start()
    with mtd.no_grad():
        resumed[0].copy_(saved["model"]["weight"])
    resumed[1].load_state_dict(saved["optimizer"])
    resumed[2].load_state_dict(saved["schedule"])
    train(*resumed, 3)
    assert resumed[0].tolist() == through[0].tolist()
    assert resumed[1].param_groups[0]["lr"] == through[1].param_groups[0]["lr"]


# --------------------------------------------------------------------------------------- what cannot


class Custom:
    pass


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        ({"hook": lambda: 0}, r'obj\["hook"\] is a function'),
        ({"a": [1, (2, Custom())]}, r'obj\["a"\]\[1\]\[1\] is a .*Custom'),
        ({"a": {Custom(): 1}}, r'a key of obj\["a"\] is a .*Custom'),
        ([Custom], r"obj\[0\] is a class"),
        ({3: mtd.nn.Module()}, r"obj\[3\] is a .*Module.*Save its state_dict\(\) instead"),
        (np.array(["x"]), r"obj has the element type <U1, which safetensors does not know"),
        ([np.array([object()])], r"obj\[0\] has the element type object"),
        (defaultdict(lambda: 1), r"obj is a defaultdict of <function"),
        ({"gen": (i for i in ())}, r'obj\["gen"\] is a generator. .*Possible are: tensors'),
    ],
)
def test_what_cannot_be_saved_is_named(obj: Any, says: str) -> None:
    file = io.BytesIO()
    with pytest.raises(TypeError, match=says):
        mtd.save(obj, file)
    assert file.getvalue() == b""


def test_what_contains_itself() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    with pytest.raises(TypeError, match=r'obj\[1\]\["again"\] contains itself'):
        mtd.save(loop, io.BytesIO())
    deep: Any = 0
    for _ in range(101):
        deep = [deep]
    with pytest.raises(TypeError, match="more than 100 levels deep"):
        mtd.save(deep, io.BytesIO())
    assert again(deep[0])


# -------------------------------------------------------------------------------------- map_location


def test_map_location() -> None:
    with mtd.cuda.simulated(2):
        x, y = mtd.ones(2, device="cuda:0"), mtd.zeros(3, device="cuda:1")
        obj = {"x": x, "y": y, "view": x[1:], "cpu": mtd.ones(1)}

        def places(map_location: Any = None) -> list[str]:
            return [str(t.device) for t in again(obj, map_location=map_location).values()]

        assert places() == ["cuda:0", "cuda:1", "cuda:0", "cpu"]
        assert places("cpu") == ["cpu"] * 4
        assert places(mtd.device("cuda:1")) == ["cuda:1"] * 4
        assert places("cuda") == ["cuda:0"] * 4
        assert places({"cuda:0": "cuda:1"}) == ["cuda:1", "cuda:1", "cuda:1", "cpu"]
        assert places({"cuda:1": "cpu", "cpu": "cuda:0"}) == ["cuda:0", "cpu", "cuda:0", "cuda:0"]
        assert places(lambda storage, where: storage) == ["cpu"] * 4
        assert places(lambda storage, where: storage.cuda(1)) == ["cuda:1"] * 4
        assert places(lambda storage, where: None) == places()
        asked: list[tuple[str, str]] = []
        places(lambda storage, where: asked.append((str(storage.device), where)))
        assert asked == [("cpu", "cuda:0"), ("cpu", "cuda:1"), ("cpu", "cpu")]  # once per memory
        moved = again(obj, map_location=lambda storage, where: storage.cuda(1))
        moved["x"][1] = 7
        assert moved["view"][0] == 7 and moved["x"].tolist() == [1, 7]
        for wrong in (7, ["cpu"], b"cpu"):
            with pytest.raises(TypeError, match="map_location should be a str, a device, a dict"):
                places(wrong)
        with pytest.raises(TypeError, match="should return a storage or None, not a str"):
            places(lambda storage, where: "cpu")
        with pytest.raises(ValueError, match="mine"):  # the caller's own error stays his
            places(lambda storage, where: (_ for _ in ()).throw(ValueError("mine")))
        with pytest.raises(RuntimeError, match=r"on cuda:5: .* 2 simulated device"):
            places({"cuda:0": "cuda:5"})
        file = io.BytesIO()
        mtd.save(obj, file)
    with mtd.cuda.simulated(0):
        file.seek(0)
        with pytest.raises(RuntimeError, match=r"on cuda:\d: .*map_location='cpu'"):
            mtd.load(file)
        file.seek(0)
        assert mtd.load(file, map_location="cpu", weights_only=True)["y"].device.type == "cpu"


def test_loading_enters_the_ledger() -> None:
    with mtd.cuda.simulated(1):
        loaded = again({"p": Parameter(mtd.ones(100, device="cuda")), "x": mtd.ones(5, device="cuda")})
        assert mtd.cuda.memory_allocated() == 420
        stats = mtd.cuda.memory_stats()
        assert stats["allocated_bytes.parameter.current"] == 400
        del loaded
        assert mtd.cuda.memory_allocated() == 0
