"""Every public name stands in some parity test; and the few that found no home elsewhere are here."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch
from tests.parity.modules import agree, same_layer

pytestmark = pytest.mark.parity

# Names that torch has not, or that cannot be compared: exceptions of ours, switches of the process.
OURS = {
    "AcceleratorError",
    "OutOfMemoryError",
    "SerializationError",
    "launch",
    "held_as",
    "RNNBase",
    "is_pinned",
    "companion",
}


def public(room: Any, wanted: Any = callable) -> list[str]:
    return [n for n in dir(room) if not n.startswith("_") and wanted(getattr(room, n))]


ROOMS = {
    "the package": lambda: public(mtd),
    "Tensor": lambda: public(mtd.Tensor),
    "nn": lambda: public(mtd.nn, inspect.isclass),
    "nn.functional": lambda: public(mtd.nn.functional),
    "nn.init": lambda: [n for n in public(mtd.nn.init) if n.endswith("_")],
    "optim": lambda: public(mtd.optim, inspect.isclass),
    "lr_scheduler": lambda: public(mtd.optim.lr_scheduler, inspect.isclass),
    "linalg": lambda: public(mtd.linalg),
}


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_compared_with_torch(room: str) -> None:
    folder = Path(__file__).parent
    words: set[str] = set()
    for path in folder.rglob("*.py"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    missing = []
    for name in ROOMS[room]():
        plain = name.rstrip("_")  # in-place forms are tested beside their operation
        if name not in words and plain not in words and name not in OURS:
            missing.append(name)
    assert missing == []


# ------------------------------------------------------------------------------------ the homeless


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def test_bounds_by_their_other_name() -> None:
    same(lambda t, x: t.clamp_min(x, 0.1), draw(3, 4))
    same(lambda t, x: t.clamp_max(x, 0.1), draw(3, 4))


KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("a", KINDS)
def test_types_promote_and_cast_as_in_torch(a: str) -> None:
    for b in KINDS:
        agree(lambda t, b=b: str(t.promote_types(getattr(t, a), getattr(t, b))))
        agree(lambda t, b=b: str(t.result_type(t.ones(2, dtype=getattr(t, a)), t.ones((), dtype=getattr(t, b)))))


def test_limits_of_types() -> None:
    for kind in KINDS[6:]:
        for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
            agree(lambda t, k=kind, f=field: getattr(t.finfo(getattr(t, k)), f))
    for kind in KINDS[1:6]:
        for field in ("bits", "max", "min", "dtype"):
            agree(lambda t, k=kind, f=field: getattr(t.iinfo(getattr(t, k)), f))


def test_the_default_type_can_be_chosen() -> None:
    def chosen(t: Any) -> list[str]:
        before = t.get_default_dtype()
        t.set_default_dtype(t.float64)
        try:
            return [str(x.dtype) for x in (t.tensor(1.0), t.zeros(1), t.ones(1, dtype=t.int64) / 2)]
        finally:
            t.set_default_dtype(before)

    agree(chosen)


IN_PLACE = ["elu_", "leaky_relu_", "relu_"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_activations_in_place(name: str) -> None:
    same(lambda t, x: getattr(t.nn.functional, name)(x * 1.0), draw(3, 4))


def test_a_stack_of_decoder_layers() -> None:
    x, memory = draw(4, 3, 6).astype(np.float32), draw(5, 3, 6, seed=1).astype(np.float32)
    same_layer(lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0), 2), x, memory)


def test_torch_is_the_oracle_that_was_asked_for() -> None:
    assert torch.__version__.startswith("2.13.")
