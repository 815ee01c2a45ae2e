"""Device values and the errors of a machine without accelerators, as torch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity


@pytest.fixture(autouse=True)
def no_devices_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_DIST_DEVICES", raising=False)


def outcome(t: Any, ask: Callable[[Any], Any]) -> Any:
    try:
        value = ask(t)
    except Exception as error:
        return type(error).__name__, str(error)
    return repr(value)


EQUAL: list[Callable[[Any], Any]] = [
    lambda t: t.device("cuda"),
    lambda t: t.device("cuda:3"),
    lambda t: t.device("cuda", 3),
    lambda t: t.device(type="cuda", index=3),
    lambda t: t.device(t.device("cpu")),
    lambda t: str(t.device("cuda", 2)) + str(t.device("cpu")),
    lambda t: t.device("cpu") == t.device("cpu:0"),
    lambda t: t.device("cuda:1") == t.device("cuda", 1),
    lambda t: t.device("cuda:1") == "cuda:1",
    lambda t: hash(t.device("cuda:1")) == hash(t.device("cuda", 1)),
    lambda t: t.device("mps"),
    lambda t: t.zeros(2, device="cpu:0").device,
    lambda t: t.cuda.is_available(),
    lambda t: t.cuda.device_count(),
    lambda t: t.cuda.is_initialized(),
    lambda t: t.cuda.memory_allocated(),
    lambda t: t.cuda.max_memory_reserved(),
    lambda t: t.cuda.manual_seed_all(1),
    lambda t: t.cuda.get_rng_state_all(),
    lambda t: t.cuda.is_bf16_supported(),
    lambda t: t.cuda.device("cuda:1").idx,
    lambda t: t.cuda.empty_cache(),
    lambda t: t.accelerator.is_available(),
    lambda t: t.accelerator.device_count(),
    lambda t: t.accelerator.current_accelerator(),
    lambda t: t.backends.cuda.is_built(),
    lambda t: t.backends.mps.is_available(),
    lambda t: (t.backends.cudnn.enabled, t.backends.cudnn.is_available()),
    lambda t: t.version.cuda,
    lambda t: t.get_float32_matmul_precision(),
]


@pytest.mark.parametrize("number", range(len(EQUAL)))
def test_equal(number: int) -> None:
    assert outcome(mtd, EQUAL[number]) == outcome(torch, EQUAL[number])


RAISES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda t: t.device(0), "Cannot access accelerator device when none is available."),
    (lambda t: t.device(-1), "Device index must not be negative"),
    (lambda t: t.device("cuda", -1), "Device index must not be negative"),
    (lambda t: t.device(""), "evice string"),
    (lambda t: t.device("cuda:01"), "Invalid device string: 'cuda:01'"),
    (lambda t: t.device("cuda:"), "Invalid device string: 'cuda:'"),
    (lambda t: t.device("cuda:-1"), "Invalid device string: 'cuda:-1'"),
    (lambda t: t.device("gpu"), "device type at start of device string: gpu"),
    (lambda t: t.device("CUDA"), "device type at start of device string: CUDA"),
    (lambda t: t.device("cuda:0", 1), "must not include an index"),
    (lambda t: t.device("cuda:0", "1"), "argument 'index' (position 2) must be int, not str"),
    (lambda t: t.device(None), ""),
    (lambda t: t.device(True), ""),
    (lambda t: t.device(1.0), ""),
    (lambda t: t.device("cpu") < t.device("cuda"), ""),
    (lambda t: t.zeros(2).to(0), "Cannot access accelerator device when none is available."),
    (lambda t: t.zeros(2).cuda(0), "Cannot access accelerator device when none is available."),
    (lambda t: t.zeros(2).to("cuda:0"), "Torch not compiled with CUDA enabled"),
    (lambda t: t.zeros(2).to(t.device("cuda")), "Torch not compiled with CUDA enabled"),
    (lambda t: t.zeros(2).cuda(), "Torch not compiled with CUDA enabled"),
    (lambda t: t.zeros(2, device="cuda:9"), "Torch not compiled with CUDA enabled"),
    (lambda t: t.zeros(2, device=0), "Cannot access accelerator device when none is available."),
    (lambda t: t.zeros(2, device=1.5), "'device' must be torch.device, not float"),
    (lambda t: t.cuda.current_device(), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.get_device_name(0), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.get_device_properties(0), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.synchronize(), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.mem_get_info(), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.get_rng_state(), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.current_stream(), "Torch not compiled with CUDA enabled"),
    (lambda t: t.cuda.device("cpu"), "Expected a cuda device, but got: cpu"),
    (lambda t: t.accelerator.current_device_index(), "Cannot access accelerator device when"),
    (lambda t: t.accelerator.set_device_index(0), "Cannot access accelerator device when none"),
    (lambda t: t.accelerator.memory_allocated(), "Cannot access accelerator device when none"),
    (lambda t: t.set_num_threads(0), "expects a positive integer"),
]


@pytest.mark.parametrize("number", range(len(RAISES)))
def test_raises(number: int) -> None:
    ask, words = RAISES[number]
    theirs, ours = outcome(torch, ask), outcome(mtd, ask)
    assert isinstance(theirs, tuple) and isinstance(ours, tuple), (theirs, ours)
    assert ours[0] == theirs[0]
    assert words in theirs[1] and words in ours[1], (theirs, ours)


def test_the_switches_are_remembered() -> None:
    for t in (torch, mtd):
        try:
            t.use_deterministic_algorithms(True, warn_only=True)
            assert t.are_deterministic_algorithms_enabled()
            t.set_float32_matmul_precision("high")
            assert t.get_float32_matmul_precision() == "high"
            t.backends.cudnn.benchmark = True
            assert t.backends.cudnn.benchmark
        finally:
            t.use_deterministic_algorithms(False)
            t.set_float32_matmul_precision("highest")
            t.backends.cudnn.benchmark = False


def test_threads() -> None:
    for t in (torch, mtd):
        before = t.get_num_threads()
        try:
            t.set_num_threads(1)
            assert t.get_num_threads() == 1
        finally:
            t.set_num_threads(before)
