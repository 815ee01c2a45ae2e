"""Device values, and the pool of simulated devices."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

import minitorch_dist as mtd
from minitorch_dist.tensors import devices, pools


@pytest.fixture(autouse=True)
def no_devices_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_DIST_DEVICES", raising=False)


def test_there_is_one_object_per_device() -> None:
    assert mtd.device("cuda:1") is mtd.device("cuda", 1) is mtd.device(type="cuda", index=1)
    assert mtd.device(mtd.device("cuda:1")) is mtd.device("cuda:1")
    assert mtd.device("cuda") is not mtd.device("cuda:0")
    assert mtd.device("cuda:1") != "cuda:1"
    assert {mtd.device("cpu"): 1}[mtd.device("cpu")] == 1


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:127", "mps", "meta"])
def test_a_device_survives_copies_and_pickles(name: str) -> None:
    d = mtd.device(name)
    assert str(d) == name
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.copy(d) is d and copy.deepcopy([d])[0] is d


def test_repr() -> None:
    assert repr(mtd.device("cuda", 3)) == "device(type='cuda', index=3)"
    assert repr(mtd.device("cpu")) == "device(type='cpu')"


def test_a_device_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="not writable"):
        mtd.device("cuda:1").index = 2  # type: ignore[misc]
    assert mtd.device("cuda:1").index == 1


# ------------------------------------------------------------------------------- without any devices


def test_a_machine_without_devices_answers_as_torch_does() -> None:
    x = mtd.zeros(2)
    with pytest.raises(RuntimeError, match=r"^Cannot access accelerator device when none is"):
        mtd.device(0)
    with pytest.raises(RuntimeError, match=r"^Cannot access accelerator device when none is"):
        x.to(0)
    for ask in (
        lambda: x.to("cuda:0"),
        lambda: x.cuda(),
        lambda: mtd.zeros(2, device="cuda"),
        lambda: mtd.cuda.current_device(),
        lambda: mtd.cuda.set_device(0),
        lambda: mtd.cuda.synchronize(),
        lambda: mtd.cuda.mem_get_info(),
    ):
        with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
            ask()
    with pytest.raises(AssertionError, match="MINITORCH_DIST_DEVICES=2x80GB"):
        x.cuda()  # the error says what to do
    assert not mtd.cuda.is_available() and mtd.cuda.device_count() == 0
    assert mtd.cuda.memory_allocated() == 0 and mtd.cuda.memory_stats() == {}
    assert not mtd.accelerator.is_available() and mtd.accelerator.current_accelerator() is None
    with pytest.raises(RuntimeError, match=r"^Cannot access accelerator"):
        mtd.accelerator.synchronize()
    mtd.cuda.empty_cache()
    mtd.cuda.manual_seed(3)
    mtd.cuda.set_device(-1)


def test_a_cpu_with_an_index_is_the_cpu() -> None:
    assert mtd.zeros(2, device="cpu:0").device is devices.CPU
    assert mtd.zeros(2).to("cpu:1").device is devices.CPU


def test_other_accelerators_are_names_only() -> None:
    with pytest.raises(NotImplementedError, match="Could not make a tensor on 'mps'"):
        mtd.zeros(2, device="mps")


# ----------------------------------------------------------------------------------------- the pool


@pytest.mark.parametrize(
    ("text", "count", "capacity"),
    [
        ("4x80GB", 4, 80 * 10**9),
        ("4", 4, 80 * 10**9),
        (" 2 X 512 MiB ", 2, 512 * 2**20),
        ("1x1.5g", 1, 15 * 10**8),
        ("3x4096", 3, 4096),
        ("2*1TiB", 2, 2**40),
        ("0", 0, 80 * 10**9),
    ],
)
def test_pools_are_read(text: str, count: int, capacity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_DEVICES", text)
    assert mtd.cuda.device_count() == count
    assert mtd.cuda.is_available() == (count > 0)
    pool = devices.pool()
    assert pool is not None and pool.capacity == capacity
    assert devices.pool() is pool


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("many", "how many devices and the memory of each, for example 4x80GB"),
        ("4x", "positive number of bytes"),
        ("4x80XB", "cannot be '80XB'; expected a positive number of bytes"),
        ("4x1.2.3GB", "expected a positive number"),
        ("4x0GB", "expected a positive number"),
        ("4x-1GB", "expected a positive number"),
        ("x80GB", "how many devices"),
        ("-1x80GB", "how many devices"),
        ("129x1GB", "at most 128 can exist"),
    ],
)
def test_what_is_not_understood_is_named(text: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_DEVICES", text)
    with pytest.raises(ValueError, match=says) as error:
        mtd.cuda.device_count()
    assert f"MINITORCH_DIST_DEVICES={text!r}" in str(error.value)


def test_a_block_has_devices_of_its_own() -> None:
    with mtd.cuda.simulated(2, "16GB") as outer:
        assert mtd.cuda.device_count() == 2
        with mtd.cuda.simulated(0):
            assert not mtd.cuda.is_available()
        with mtd.cuda.simulated("3x1MB"):
            assert mtd.cuda.device_count() == 3
            with mtd.cuda.simulated(outer):
                assert devices.pool() is outer
    assert mtd.cuda.device_count() == 0


def test_devices_belong_to_the_thread_that_asked() -> None:
    seen: list[int] = []
    with mtd.cuda.simulated(2):
        thread = threading.Thread(target=lambda: seen.append(mtd.cuda.device_count()))
        thread.start()
        thread.join()
    assert seen == [0]


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 KB"),
        (1536, "1.54 KB"),
        (80 * 10**9, "80 GB"),
        (999_900, "1 MB"),
        (123_456_789, "123 MB"),
        (5 * 10**15, "5 PB"),
        (-2500, "-2.5 KB"),
    ],
)
def test_sizes_are_readable(nbytes: int, text: str) -> None:
    assert pools.readable(nbytes) == text


def test_a_size_beyond_all_floats_is_a_size() -> None:
    assert pools.readable(10**400).endswith(" EB")


# --------------------------------------------------------------------------- current and by default


def test_cuda_means_the_current_device() -> None:
    with mtd.cuda.simulated(3):
        assert mtd.zeros(1, device="cuda").device is mtd.device("cuda:0")
        mtd.cuda.set_device(1)
        assert mtd.zeros(1).cuda().get_device() == 1
        with mtd.cuda.device(2):
            assert mtd.zeros(1).to("cuda").device is mtd.device("cuda:2")
            with mtd.cuda.device(-1), mtd.cuda.device(None):
                assert mtd.cuda.current_device() == 2
        with mtd.cuda.device("cuda:0"), mtd.cuda.simulated(2):
            assert mtd.cuda.current_device() == 0
        assert mtd.accelerator.current_device_index() == 1
        with mtd.accelerator.device_index(2):
            assert mtd.cuda.current_device() == 2
        mtd.accelerator.set_device_index("cuda:0")
        assert mtd.cuda.current_device() == 0


def test_a_device_that_does_not_exist_is_refused() -> None:
    with mtd.cuda.simulated(2):
        device = mtd.device(5)  # a value; only using it is an error
        for ask in (
            lambda: mtd.zeros(1).to(device),
            lambda: mtd.zeros(1, device="cuda:2"),
            lambda: mtd.cuda.set_device(2),
            lambda: mtd.cuda.memory_allocated(7),
            lambda: mtd.cuda.device(3).__enter__(),
        ):
            with pytest.raises(RuntimeError, match=r"^CUDA error: invalid device ordinal"):
                ask()
        with pytest.raises(mtd.AcceleratorError, match=r"cuda:5, of 2 simulated device\(s\)"):
            mtd.zeros(1).cuda(5)
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            mtd.cuda.set_device("cpu")


def test_new_tensors_go_to_the_default_device() -> None:
    with mtd.cuda.simulated(2):
        with mtd.device("cuda:1"):
            assert mtd.zeros(2).get_device() == 1
            assert mtd.tensor([1.0]).is_cuda
            assert mtd.zeros(2, device="cpu").is_cpu
            with mtd.device("cpu"), mtd.device("cuda:0"), mtd.device("cpu"):
                assert mtd.ones(1).is_cpu
            assert mtd.rand(1).is_cuda
        assert mtd.zeros(2).is_cpu


# ------------------------------------------------------------------------------ what cuda tells of it


def test_properties() -> None:
    with mtd.cuda.simulated(1, "80GB"):
        assert mtd.cuda.get_device_name(0) == "Simulated device, 80 GB"
        properties = mtd.cuda.get_device_properties("cuda:0")
        assert properties.total_memory == 80 * 10**9
        assert mtd.cuda.get_device_capability() == (properties.major, properties.minor) == (8, 0)
        assert mtd.cuda.is_bf16_supported() and mtd.cuda.is_initialized()
        mtd.cuda.synchronize()
        assert mtd.backends.cuda.is_built()
        assert mtd.accelerator.current_accelerator() is mtd.device("cuda")


def test_streams_and_events() -> None:
    with mtd.cuda.simulated(2):
        side = mtd.cuda.Stream(device=1)
        start, end = (mtd.cuda.Event(enable_timing=True) for _ in range(2))
        with pytest.raises(ValueError, match="must be recorded"):
            start.elapsed_time(end)
        start.record()
        with mtd.cuda.stream(side):
            assert mtd.cuda.current_stream() == side and mtd.cuda.current_device() == 1
            side.wait_stream(mtd.cuda.default_stream())
        assert mtd.cuda.current_device() == 0
        assert mtd.cuda.current_stream() == mtd.cuda.default_stream()
        side.record_event(end)
        side.wait_event(end)
        side.synchronize()
        assert start.elapsed_time(end) >= 0 and start.query() and side.query()
        with pytest.raises(ValueError, match="enable_timing=True"):
            start.elapsed_time(mtd.cuda.Event())
        assert side == mtd.cuda.Stream(1, stream_id=side.stream_id) != mtd.cuda.Stream(1)
        assert len({side, mtd.cuda.default_stream(1), mtd.cuda.default_stream(1)}) == 2
        with mtd.cuda.stream(None):
            pass


def test_random_numbers_are_those_of_the_default_stream() -> None:
    with mtd.cuda.simulated(2):
        mtd.cuda.manual_seed_all(7)
        a = mtd.rand(5, device="cuda")
        state = mtd.cuda.get_rng_state()
        b = mtd.rand(5, device="cuda")
        mtd.cuda.set_rng_state(state)
        assert mtd.rand(5, device="cuda").tolist() == b.tolist()
        mtd.manual_seed(7)
        assert mtd.rand(5).tolist() == a.tolist()
        assert len(mtd.cuda.get_rng_state_all()) == 2
