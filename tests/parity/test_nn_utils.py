"""`nn.utils` and `func` against torch: clipping, packing, calling with other parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same
from tests.parity.modules import agree, caught

pytestmark = pytest.mark.parity


def with_gradients(t: Any, *values: Any, dtype: str = "float32") -> list[Any]:
    found = []
    for value in values:
        p = t.nn.Parameter(t.zeros(len(value), dtype=getattr(t, dtype)))
        p.grad = t.tensor(value, dtype=getattr(t, dtype))
        found.append(p)
    return [*found, t.nn.Parameter(t.zeros(1))]


VALUES = ([3.0, -4.0], [12.0, 0.5, -1.0])


@pytest.mark.parametrize("order", [2.0, 1.0, 0.5, 3, float("inf"), "inf", 0])
@pytest.mark.parametrize("limit", [1, 6.5, 100.0])
def test_clip_grad_norm(order: Any, limit: float) -> None:
    def program(t: Any) -> Any:
        ps = with_gradients(t, *VALUES)
        total = t.nn.utils.clip_grad_norm_(ps, limit, norm_type=order)
        return total, [p.grad for p in ps[:2]], ps[2].grad

    agree(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_clip_grad_norm_of_other_dtypes(dtype: str) -> None:
    def program(t: Any) -> Any:
        ps = with_gradients(t, *VALUES, dtype=dtype)
        total = t.nn.utils.clip_grad_norm_(ps, 2.0)
        return total.dtype, [x.to(t.float64) for x in (total, ps[0].grad, ps[1].grad)]

    agree(program, rtol=1e-2 if dtype != "float64" else 1e-6)


def test_clip_grad_norm_corners() -> None:
    def program(t: Any) -> Any:
        u = t.nn.utils
        single = with_gradients(t, [3.0, 4.0])[0]
        bad = with_gradients(t, [float("nan"), 1.0], [float("inf"), 1.0])
        version = single.grad._version
        return [
            u.clip_grad_norm_(single, 1.0), single.grad, single.grad._version > version,
            u.clip_grad_norm_([], 1.0), u.clip_grad_norm_((p for p in ()), 1.0),
            u.clip_grad_norm_([t.nn.Parameter(t.zeros(2))], 1.0),
            caught(lambda: u.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)),
            u.clip_grad_norm_(bad, 1.0), [p.grad for p in bad[:2]],
            u.get_total_norm([t.ones(3), t.ones(2, 2)]),
            u.get_total_norm([t.ones(3), t.ones(2, 2, dtype=t.float64)]),
            u.clip_grads_with_norm_(single, 0.1, t.tensor(2.0)), single.grad,
            u.clip_grad_norm(single, 0.01),
        ]  # fmt: skip

    agree(program)


def test_clip_grad_value() -> None:
    def program(t: Any) -> Any:
        ps = with_gradients(t, *VALUES)
        t.nn.utils.clip_grad_value_(ps, 2)
        t.nn.utils.clip_grad_value_(ps[0], 1.5)
        return [p.grad for p in ps[:2]]

    agree(program)


# ---------------------------------------------------------------------------------- padding and packing


def sequences(rng: Any, *lengths: int) -> list[Any]:
    return [rng.standard_normal((n, 2)).astype(np.float32) for n in lengths]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_pad_sequence(batch_first: bool, side: str) -> None:
    found = sequences(np.random.default_rng(0), 2, 4, 0, 3)
    same(lambda t, *xs: t.nn.utils.rnn.pad_sequence(list(xs), batch_first, -1.5, side), *found)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [(4, 3, 3, 1), (1, 4, 2, 3), (2, 2, 2, 2)])
def test_pack_and_pad_again(batch_first: bool, lengths: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal((4, 4, 3))

    def expression(t: Any, x: Any) -> Any:
        rnn = t.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, t.tensor(lengths), batch_first, enforce_sorted=False)
        padded, sizes = rnn.pad_packed_sequence(packed, batch_first, 7.0, total_length=5)
        return [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices,
                padded, sizes, *rnn.unpack_sequence(packed)]  # fmt: skip

    same(expression, x)


def test_pack_sequence_and_unpad() -> None:
    def expression(t: Any, *xs: Any) -> Any:
        rnn = t.nn.utils.rnn
        packed = rnn.pack_sequence(list(xs))
        padded = rnn.pad_sequence(list(xs), batch_first=True)
        found = rnn.unpad_sequence(padded, t.tensor([4, 3, 1]), batch_first=True)
        return [packed.data, packed.batch_sizes, packed.sorted_indices, *found]

    same(expression, *sequences(np.random.default_rng(2), 4, 3, 1))


PACKING_ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "unsorted": lambda t, r: r.pack_padded_sequence(t.zeros(3, 2), [1, 3]),
    "count": lambda t, r: r.pack_padded_sequence(t.zeros(3, 2), [3]),
    "zero": lambda t, r: r.pack_padded_sequence(t.zeros(3, 2), [3, 0]),
    "nothing to pad": lambda t, r: r.pad_sequence([]),
    "not a list": lambda t, r: r.pad_sequence(3),
    "side": lambda t, r: r.pad_sequence([t.zeros(1)], padding_side="top"),
    "total": lambda t, r: r.pad_packed_sequence(r.pack_sequence([t.zeros(3)]), total_length=2),
}


@pytest.mark.parametrize("case", PACKING_ERRORS)
def test_packing_errors(case: str) -> None:
    agree(lambda t: caught(lambda: PACKING_ERRORS[case](t, t.nn.utils.rnn))[0])


def test_packed_sequences_move() -> None:
    def program(t: Any) -> Any:
        packed = t.nn.utils.rnn.pack_sequence([t.ones(1), t.ones(3)], enforce_sorted=False)
        double = packed.to(t.float64)
        return [
            list(double), double.to(t.float64) is double, packed.cpu() is packed, packed.is_cuda,
            packed.double().data, packed.half().data, packed.long().data, packed.int().data,
            packed.float() is packed, len(packed), t.nn.utils.rnn.invert_permutation(None),
        ]  # fmt: skip

    agree(program)


# --------------------------------------------------------------------------------- parameters as vector


def test_parameters_to_vector_and_back() -> None:
    def program(t: Any) -> Any:
        u = t.nn.utils
        m = t.nn.Linear(3, 2)
        t.nn.init.constant_(m.weight, 2.0)
        t.nn.init.constant_(m.bias, 1.0)
        vector = u.parameters_to_vector(m.parameters())
        (vector * t.arange(8.0)).sum().backward()
        new, weight = t.arange(8.0) * 10, m.weight
        u.vector_to_parameters(new, m.parameters())
        new[0] = -1.0
        return [
            vector, m.weight.grad, m.bias.grad, m.weight, m.bias, m.weight is weight,
            caught(lambda: u.vector_to_parameters([1.0], m.parameters())),
            caught(lambda: u.vector_to_parameters(t.zeros(3), m.parameters()))[0],
        ]  # fmt: skip

    agree(program)
