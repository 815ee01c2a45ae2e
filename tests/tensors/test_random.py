"""Random numbers: the stream of a seed never changes, and each distribution is what it says."""

from __future__ import annotations

import contextvars
import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.tensors import devices, distributions, dtypes
from minitorch_dist.tensors.generator import current, install

# The first numbers of seed 2024, to the last bit. If one of these changes, so does every experiment
# that anybody has written down: it needs a note in the CHANGELOG.
GOLDEN: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "rand": (
        lambda: mtd.rand(4, dtype=dtypes.float64),
        [0.7539532404108791, 0.6536530412806927, 0.8305111850799092, 0.8281398158238606],
    ),
    "rand float32": (
        lambda: mtd.rand(4),
        [0.753953218460083, 0.6536530256271362, 0.8305111527442932, 0.8281397819519043],
    ),
    "randn": (
        lambda: mtd.randn(4, dtype=dtypes.float64),
        [0.6869828763671512, 0.395201863606708, 0.9561872707588704, 0.9468398966381442],
    ),
    "randn float32": (
        lambda: mtd.randn(4),
        [0.6869828701019287, 0.3952018618583679, 0.9561872482299805, 0.9468398690223694],
    ),
    "randint": (lambda: mtd.randint(-5, 1000, (4,)), [807, 289, 972, 436]),
    "randperm": (lambda: mtd.randperm(8), [7, 6, 4, 1, 5, 0, 3, 2]),
    "multinomial": (lambda: mtd.multinomial(mtd.tensor([1.0, 2.0, 3.0]), 3), [2, 1, 0]),
    "multinomial with replacement": (
        lambda: mtd.multinomial(mtd.tensor([1.0, 2.0, 3.0]), 6, replacement=True),
        [2, 2, 2, 2, 2, 2],
    ),
    "keep": (
        lambda: mtd.tensor(distributions.keep(0.75, (8,), current())),
        [True, False, True, True, False, False, True, False],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_stream_never_changes(name: str) -> None:
    draw, wanted = GOLDEN[name]
    mtd.manual_seed(2024)
    assert draw().array.tolist() == wanted


@pytest.mark.slow
def test_the_stream_does_not_depend_on_the_processor() -> None:
    """numpy without any of its code for newer processors draws the same numbers."""
    from numpy._core import _multiarray_umath as numpy_core

    newer = [f for f in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[f]]
    code = "from tests.tensors import test_random as t; print(t.fingerprint())"
    plain = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(newer)}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint()


def fingerprint() -> str:
    """A digest of many numbers of every distribution."""
    digest = hashlib.sha256()
    mtd.manual_seed(2024)
    for _ in range(50):
        for draw, _wanted in GOLDEN.values():
            digest.update(draw().array.tobytes())
    x = mtd.zeros(20000, dtype=dtypes.float64)
    for draw in (x.normal_, x.uniform_):
        digest.update(draw().array.tobytes())
    return digest.hexdigest()


N = 40000


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda: mtd.rand(N), 1 / 2, 1 / 12),
        (lambda: mtd.randn(N), 0, 1),
        (lambda: mtd.normal(3.0, 2.0, (N,)), 3, 4),
        (lambda: mtd.randint(10, (N,)), 4.5, 99 / 12),
        (lambda: mtd.zeros(N).uniform_(-1, 3), 1, 16 / 12),
        (lambda: mtd.multinomial(mtd.tensor([1.0, 0.0, 3.0]), N, True), 1.5, 0.75),
        (lambda: mtd.tensor(distributions.keep(0.9, (N,), current())), 0.9, 0.09),
    ],
)
def test_mean_and_variance(draw: Callable[[], Any], mean: float, variance: float) -> None:
    x = draw().array.astype(np.float64)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / N)
    assert abs(x.var() / variance - 1) < 0.1


def test_normal_numbers_follow_their_distribution() -> None:
    """Kolmogorov and Smirnov: the empirical distribution stays within 1.63/√n of the true one."""
    from math import erf, sqrt

    x = np.sort(mtd.randn(N, dtype=dtypes.float64).array)
    true = np.array([(1 + erf(v / sqrt(2))) / 2 for v in x])
    assert np.abs(true - np.arange(N) / N).max() < 1.63 / np.sqrt(N)


def test_small_numbers_of_every_type_are_rounded_alike() -> None:
    for dtype in (dtypes.float32, dtypes.float16, dtypes.bfloat16):
        mtd.manual_seed(1)
        x = mtd.randn(100, dtype=dtypes.float64).array
        mtd.manual_seed(1)
        assert np.array_equal(mtd.randn(100, dtype=dtype).array, x.astype(dtype.numpy))
        assert mtd.rand(100000, dtype=dtype).array.max() < 1


def test_draws_join_without_a_gap() -> None:
    mtd.manual_seed(5)
    whole = mtd.rand(3 * distributions.BLOCK + 8).array
    mtd.manual_seed(5)
    parts = [mtd.rand(n).array for n in (4, distributions.BLOCK, 2 * distributions.BLOCK + 4)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_a_permutation_has_each_number_once_and_is_uniform() -> None:
    assert sorted(mtd.randperm(1000).array) == list(range(1000))
    first = np.array([mtd.randperm(3).array for _ in range(3000)])
    places, counts = np.unique(first @ [9, 3, 1], return_counts=True)
    assert len(places) == 6 and abs(counts - 500).max() < 120


def test_multinomial_without_replacement() -> None:
    weights = mtd.tensor([[0.0, 1.0, 2.0], [5.0, 0.0, 5.0]])
    drawn = np.array([mtd.multinomial(weights, 2).array for _ in range(200)])
    assert set(map(tuple, drawn[:, 0])) == {(1, 2), (2, 1)}
    assert set(map(tuple, drawn[:, 1])) == {(0, 2), (2, 0)}


def test_the_bounds_of_random_() -> None:
    def drawn(x: Any, *bounds: int) -> set[int]:
        return set(x.random_(*bounds).array.tolist())

    assert drawn(mtd.zeros(500), 2, 5) == {2, 3, 4}
    assert drawn(mtd.zeros(500, dtype=dtypes.int32), 3) == {0, 1, 2}
    assert drawn(mtd.zeros(500, dtype=dtypes.bool_)) == {False, True}
    assert max(drawn(mtd.zeros(9999, dtype=dtypes.int8))) == 127
    assert max(drawn(mtd.zeros(99999, dtype=dtypes.float16))) == 2047
    assert mtd.randint(-(2**63), 2**63 - 1, (100,)).array.min() < -(2**62)


def test_states() -> None:
    a = mtd.Generator().manual_seed(7)
    mtd.rand(5, generator=a)
    state, twin, pickled = a.get_state(), a.clone_state(), pickle.dumps(a)
    wanted = mtd.rand(5, generator=a).array
    assert np.array_equal(wanted, mtd.rand(5, generator=twin).array)
    assert np.array_equal(wanted, mtd.rand(5, generator=a.set_state(state)).array)
    assert np.array_equal(wanted, mtd.rand(5, generator=pickle.loads(pickled)).array)


def test_the_default_stream() -> None:
    assert mtd.manual_seed(3) is mtd.default_generator
    assert mtd.initial_seed() == 3
    state = mtd.get_rng_state()
    a = mtd.rand(3).array
    mtd.set_rng_state(state)
    assert np.array_equal(a, mtd.rand(3).array)
    assert mtd.seed() == mtd.initial_seed() != 3


def test_a_rank_that_is_a_thread_may_have_its_own_stream() -> None:
    mtd.manual_seed(1)
    before = mtd.get_rng_state().array.copy()
    seen = []

    def rank(seed: int) -> None:
        install(mtd.Generator().manual_seed(seed))
        seen.append((seed, mtd.rand(2).array.tolist()))

    for seed in (1, 2):
        thread = threading.Thread(target=contextvars.copy_context().run, args=(rank, seed))
        thread.start()
        thread.join()
    assert np.array_equal(before, mtd.get_rng_state().array)
    assert seen[0] == (1, mtd.rand(2).array.tolist()) and seen[1] != seen[0]


def test_threads_share_the_default_stream_without_losing_numbers() -> None:
    mtd.manual_seed(11)
    wanted = set(mtd.randint(2**60, (4000,)).array.tolist())
    mtd.manual_seed(11)
    drawn: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: drawn.extend(n for _ in range(50) for n in mtd.randint(2**60, (20,)).array.tolist())
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(drawn) == wanted


def test_filling_is_a_write() -> None:
    leaf = mtd.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.normal_()
    used = leaf * mtd.ones(3)
    version = used._version
    used.uniform_()
    assert used._version == version + 1 and used.grad_fn.name() == "UniformBackward0"
    used.sum().backward()
    assert leaf.grad.array.tolist() == [0, 0, 0]


def test_a_generator_draws_for_its_own_kind_of_device() -> None:
    with devices.simulated(1):
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
            mtd.rand(2, device="cuda", generator=mtd.Generator())
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
            mtd.zeros(2).normal_(generator=mtd.Generator("cuda"))
        assert mtd.randn(2, device="cuda", generator=mtd.Generator("cuda")).device.type == "cuda"


def test_sampling_never_picks_what_has_no_weight() -> None:
    tiny = mtd.tensor([0.0, 5e-324, 0.0], dtype=dtypes.float64)
    assert set(mtd.multinomial(tiny, 100, replacement=True).array.tolist()) == {1}
