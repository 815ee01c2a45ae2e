"""The same counts as torch's FlopCounterMode, where torch counts."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist
from minitorch_dist.utils.flop_counter import FlopCounterMode

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

Counts = dict[str, dict[str, int]]


def _counts(make: Any, shape: tuple[int, ...], grad: bool) -> tuple[Counts, Counts]:
    """Forward and backward, by torch and by us."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode as Theirs

    def count(lib: Any, mode: Any) -> Counts:
        function, x = make(lib), lib.ones(*shape, requires_grad=grad)
        with mode(display=False) as counter:
            function(x).sum().backward()
        found = counter.get_flop_counts()
        return {"Global": {str(kind): number for kind, number in found["Global"].items()}}

    with sdpa_kernel(SDPBackend.MATH):  # the one whose products torch can see
        theirs = count(torch, Theirs)
    return theirs, count(minitorch_dist, FlopCounterMode)


def _mlp(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 7, bias=False)))


def _conv(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 5, 1))


def _batches(lib: Any) -> Any:
    w = lib.ones(6, 4, requires_grad=True)
    return lambda x: lib.bmm(x, x.transpose(1, 2)) @ (x @ w.t())


def _einsum(lib: Any) -> Any:
    w = lib.ones(6, 4, requires_grad=True)
    return lambda x: lib.einsum("bsi,ti->bst", x, w)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda lib: lib.nn.Linear(3, 5), (4, 3)),
        (lambda lib: lib.nn.Linear(3, 5), (2, 4, 3)),
        (lambda lib: lib.nn.Linear(3, 5, bias=False), (2, 4, 3)),
        (_mlp, (4, 3)),
        (_conv, (2, 3, 9, 9)),
        (lambda lib: lib.nn.Conv1d(3, 5, 2, dilation=2), (2, 3, 9)),
        (lambda lib: lib.nn.ConvTranspose2d(3, 5, 3, stride=2), (2, 3, 4, 4)),
    ],
)
def test_modules(make: Any, shape: tuple[int, ...], grad: bool) -> None:
    theirs, ours = _counts(make, shape, grad)
    assert ours == theirs


@pytest.mark.parametrize(("make", "shape"), [(_batches, (2, 3, 4)), (_einsum, (2, 3, 4))])
def test_functions(make: Any, shape: tuple[int, ...]) -> None:
    theirs, ours = (sum(each["Global"].values()) for each in _counts(make, shape, True))
    assert ours == theirs > 0


def test_attention() -> None:
    def attention(lib: Any) -> Any:
        return lambda x: lib.nn.functional.scaled_dot_product_attention(x, x, x)

    theirs, ours = (sum(e["Global"].values()) for e in _counts(attention, (2, 3, 5, 8), True))
    assert ours == theirs == 6 * 2 * 2 * 3 * 5 * 5 * 8


def test_a_transformer_layer() -> None:
    def layer(lib: Any) -> Any:
        made = lib.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        return made.train()

    theirs, ours = (sum(e["Global"].values()) for e in _counts(layer, (2, 5, 8), True))
    assert ours == theirs
