"""Synthetic measurements with a known truth: it is found again, and intervals hold what they promise."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from minitorch_dist.sim import nets
from mtd import calibration
from mtd.calibration import SIZES, Costs, Measured, fit_all

TRUTH = Costs(latency=20e6, per_byte=150.0, per_added=125.0, overhead=30e6, cores=2.0)
CALLS = [("ring", 2, 1 << 16), ("binomial", 4, 1 << 20), ("rabenseifner", 8, 1 << 10), ("ring", 5, 40)]


def measurements(truth: Costs, noise: float, seed: int, trips: int = 40) -> Measured:
    chance = np.random.default_rng(seed)

    def several(span: float) -> list[int]:
        return [round(span * math.exp(e)) for e in chance.normal(0, noise, trips)]

    def one_way(nbytes: int) -> float:
        return truth.latency + nbytes * truth.per_byte

    return Measured(
        {n: several(one_way(n)) for n in SIZES},
        {n: several(n * truth.per_added) for n in SIZES[2:]},
        {
            (ranks, n): several(one_way(n) * max(1.0, ranks / truth.cores))
            for ranks in calibration.TOGETHER
            for n in SIZES
        },
        several((truth.latency + truth.overhead) * max(1.0, 2 / truth.cores)),
    )


@pytest.mark.parametrize("cores", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_truth_is_found_again(cores: float, noise: float) -> None:
    truth = TRUTH._replace(cores=cores)
    found = fit_all(measurements(truth, noise, 1)).costs
    for name in ("latency", "per_byte", "per_added", "cores", "overhead"):
        off = getattr(found, name) / getattr(truth, name)
        assert abs(off - 1) < (0.02 if noise == 0 else 0.15), (name, off)


def test_ranks_that_have_a_core_each_are_not_slowed() -> None:
    found = fit_all(measurements(TRUTH._replace(cores=64.0), 0.05, 2)).costs
    assert found.cores >= 4 * 0.9
    assert fit_all(Measured({n: [10, 11] for n in SIZES})).costs.cores == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.05, 0.4])
def test_nine_of_ten_values_fall_into_the_intervals(noise: float) -> None:
    chance, inside, count = np.random.default_rng(5), 0, 0
    for seed in range(6):
        fitted = fit_all(measurements(TRUTH, noise, seed, 20))
        for algorithm, size, nbytes in CALLS:
            said = fitted.predict("all_reduce", algorithm, size, nbytes)
            assert 0 < said.low <= said.time <= said.high
            truth = TRUTH.time("all_reduce", algorithm, size, nbytes)
            values = truth * np.exp(chance.normal(0, noise, 25))
            inside += int(((said.low <= values) & (values <= said.high)).sum())
            count += len(values)
    assert 0.85 <= inside / count <= 0.96, inside / count


def test_more_noise_is_a_wider_interval() -> None:
    widths = []
    for noise in (0.0, 0.05, 0.2, 0.6):
        said = fit_all(measurements(TRUTH, noise, 3)).predict("all_reduce", "ring", 4, 1 << 16)
        widths.append(said.high / said.low)
    assert widths == sorted(widths) and widths[0] < 1.02 and widths[-1] > 3


def test_additions_and_shared_cores_are_in_the_prediction() -> None:
    plain = Costs(20e6, 150.0)
    adding, shared = plain._replace(per_added=125.0), plain._replace(cores=2.0)
    nbytes = 1 << 20
    without = plain.time("all_reduce", "ring", 4, nbytes)
    assert adding.time("all_reduce", "ring", 4, nbytes) == without + 3 * nbytes / 4 * 125
    assert shared.time("all_reduce", "ring", 4, nbytes) == 2 * without
    assert shared.time("all_reduce", "ring", 2, nbytes) == plain.time("all_reduce", "ring", 2, nbytes)


def test_a_file_keeps_the_intervals(tmp_path: Path) -> None:
    fitted, path = fit_all(measurements(TRUTH, 0.1, 4)), tmp_path / "links.json"
    calibration.save_network(path, fitted.latency, fitted.per_byte, fitted.about())
    again = calibration.load(str(path))
    assert again is not None and nets.load(path) == fitted.network
    for algorithm, size, nbytes in CALLS:
        one, other = (f.predict("all_reduce", algorithm, size, nbytes) for f in (fitted, again))
        assert one.time == other.time and other.low == pytest.approx(one.low, rel=1e-4)
    calibration.save_network(path, 1000, fitted.per_byte, {})
    assert calibration.load(str(path)) is None
    calibration.save_network(path, 1000, fitted.per_byte, {"costs": [1], "draws": [["x"]], "scatter": []})
    with pytest.raises(ValueError, match="holds no measurements"):
        calibration.load(str(path))
