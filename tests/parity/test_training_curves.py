"""Fifty steps from equal weights: the losses of whole networks equal torch's to 1e-4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitorch_dist.datasets import SyntheticDigits, spirals
from mtd.cli.bench.steps import model_source
from tests.parity.compare import mtd, to_numpy, torch

pytestmark = [pytest.mark.parity, pytest.mark.slow]

STEPS = 50
Arrays = list[np.ndarray[Any, Any]]


def curve(t: Any, model: Any, optimizer: Any, batches: Any, loss: Callable[..., Any]) -> list[float]:
    """The loss of every step."""
    found = []
    for x, y in batches:
        optimizer.zero_grad()
        out = loss(t, model(t.from_numpy(x)), t.from_numpy(y))
        out.backward()
        optimizer.step()
        found.append(out.item())
    return found


def both(
    make: Callable[[Any], Any], optimizer: Callable[[Any, Any], Any], batches: Any, loss: Callable[..., Any]
) -> None:
    """Train the two from the weights torch draws, and compare curve and final weights."""
    torch.manual_seed(0)
    theirs, ours = make(torch), make(mtd)
    ours.load_state_dict({k: mtd.from_numpy(to_numpy(v).copy()) for k, v in theirs.state_dict().items()})
    curves = [
        curve(t, model, optimizer(t, model.parameters()), batches, loss) for t, model in ((torch, theirs), (mtd, ours))
    ]
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4, atol=1e-4)
    assert curves[0][-1] < 0.75 * curves[0][0], "the run learned something"
    final = theirs.state_dict()
    for name, value in ours.state_dict().items():
        np.testing.assert_allclose(to_numpy(value), to_numpy(final[name]), rtol=1e-2, atol=2e-3, err_msg=name)


def digits() -> list[tuple[Any, Any]]:
    data = SyntheticDigits(size=16 * STEPS)
    images = ((data.data.array / np.float32(255) - 0.1307) / 0.3081).astype(np.float32)[:, None]
    labels = data.targets.array
    return [(images[i : i + 16], labels[i : i + 16]) for i in range(0, 16 * STEPS, 16)]


def test_the_convnet() -> None:
    def make(t: Any) -> Any:
        return model_source(t, "convnet").ConvNet().eval()  # the two draw different dropouts

    both(
        make,
        lambda t, p: t.optim.SGD(p, lr=0.02, momentum=0.5),  # 0.05 is chaotic by step 43
        digits(),
        lambda t, out, y: t.nn.functional.nll_loss(out, y),
    )


def test_a_small_transformer() -> None:
    """It reads a sequence of numbers and says which of them stood first."""

    def make(t: Any) -> Any:
        nn = t.nn

        class Reader(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(10, 32)
                self.place = nn.Parameter(t.zeros(12, 32))
                layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
                self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
                self.head = nn.Linear(32, 10)

            def forward(self, x: Any) -> Any:
                return self.head(self.body(self.embed(x) + self.place)[:, 0])

        return Reader()

    rng = np.random.default_rng(0)
    batches = [(x, x[:, 0].copy()) for x in rng.integers(0, 10, (STEPS, 32, 12))]
    both(make, lambda t, p: t.optim.Adam(p, lr=2e-3), batches, lambda t, out, y: t.nn.functional.cross_entropy(out, y))


def test_a_network_with_batch_norm() -> None:
    def make(t: Any) -> Any:
        nn = t.nn
        return nn.Sequential(
            nn.Linear(2, 64, bias=False),
            nn.BatchNorm1d(64),
            nn.GELU(),
            nn.Linear(64, 64),
            nn.LayerNorm(64),
            nn.SiLU(),
            nn.Linear(64, 3),
        )

    points, arms = spirals(600)
    x, y = points.array, arms.array
    rng = np.random.default_rng(0)
    picks = [rng.integers(0, 600, 64) for _ in range(STEPS)]
    both(
        make,
        lambda t, p: t.optim.AdamW(p, lr=5e-3),
        [(x[i], y[i]) for i in picks],
        lambda t, out, target: t.nn.functional.cross_entropy(out, target),
    )


def next_words(words: int = 30, length: int = 12) -> list[tuple[Any, Any]]:
    """Walks over `words` words, by one to three at a time: each word, and the one that follows it."""
    rng = np.random.default_rng(0)
    walks = rng.integers(1, 4, (STEPS, length + 1, 8)).cumsum(axis=1) % words
    return [(walk[:-1], walk[1:].reshape(-1)) for walk in walks]


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_a_recurrent_language_model(kind: str) -> None:
    def make(t: Any) -> Any:
        nn = t.nn

        class Model(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(30, 24)
                self.body = getattr(nn, kind)(24, 32, 2)
                self.head = nn.Linear(32, 30)

            def forward(self, x: Any) -> Any:
                return self.head(self.body(self.embed(x))[0]).reshape(-1, 30)

        return Model()

    both(
        make,
        lambda t, p: t.optim.Adam(p, lr=1e-2),
        next_words(),
        lambda t, out, y: t.nn.functional.cross_entropy(out, y),
    )


@pytest.mark.parametrize("double", [False, True], ids=["SGD", "Adam"])
def test_a_transformer_language_model(double: bool) -> None:
    """Adam at 1e-2 magnifies roundings of float32, also of torch against torch: so that run has float64.

    A bias of the keys changes no softmax. Its gradient is rounding alone, and Adam makes whole steps of it.
    """

    def make(t: Any) -> Any:
        nn = t.nn

        class Model(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(30, 24)
                layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0)
                self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
                self.head = nn.Linear(24, 30)

            def forward(self, x: Any) -> Any:
                x = self.embed(x) * 24**0.5
                unseen = t.full((len(x), len(x)), float("-inf"), dtype=x.dtype).triu(1)
                return self.head(self.body(x, mask=unseen)).reshape(-1, 30)

        return Model().double() if double else Model()

    both(
        make,
        lambda t, p: t.optim.Adam(p, lr=1e-2) if double else t.optim.SGD(p, lr=0.2),
        next_words(),
        lambda t, out, y: t.nn.functional.cross_entropy(out, y),
    )


def test_super_resolution() -> None:
    """Convolutions, and a shuffle that makes nine channels into three times the height and width."""

    def make(t: Any) -> Any:
        nn = t.nn
        return nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 9, 3, padding=1),
            nn.PixelShuffle(3),
        )

    rng = np.random.default_rng(0)
    batches = []
    for _ in range(STEPS):
        y = rng.random((4, 1, 24, 24), dtype=np.float32)
        y = (y + np.roll(y, 1, 2) + np.roll(y, 1, 3)) / 3
        batches.append((y.reshape(4, 1, 8, 3, 8, 3).mean((3, 5)), y))
    both(make, lambda t, p: t.optim.Adam(p, lr=5e-3), batches, lambda t, out, y: t.nn.functional.mse_loss(out, y))
