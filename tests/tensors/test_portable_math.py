"""The exact functions are right to about an ulp; their bits are pinned by tests of the generator."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from minitorch_dist.tensors import portable_math


def test_log() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 10000) * 10.0 ** rng.integers(-300, 300, 10000)
    np.testing.assert_allclose(portable_math.log(x), np.log(x), rtol=1e-15)
    assert portable_math.log(np.array([1.0]))[0] == 0


def test_normal_quantile() -> None:
    u = np.concatenate([np.linspace(0.001, 0.999, 999), 10.0 ** -np.arange(4, 16)])
    wanted = [NormalDist().inv_cdf(p) for p in u]
    np.testing.assert_allclose(portable_math.normal_quantile(u), wanted, rtol=1e-13, atol=1e-15)
    assert np.array_equal(portable_math.normal_quantile(1 - u[:999]), -portable_math.normal_quantile(1 - (1 - u[:999])))
