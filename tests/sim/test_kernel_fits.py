"""The simulated devices have the numbers fitted on tables of kernels, and are near these tables."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from minitorch_dist import sim
from minitorch_dist.sim.device import NOT_FITTED, Product
from minitorch_dist.tensors.flops import AttentionSizes
from mtd import cli
from mtd.planning import kernel_fits
from mtd.planning.kernel_fits import SUSTAINED, TRITON, ProductFit

H100, A100 = "H100-SXM", "A100-80-SXM"
PEAK = {H100: 989.4e12, A100: 312e12}
HEADS = [(table["device"], table["kernel"], table["head"]) for table in kernel_fits.tables()["attention"]]


def h100() -> ProductFit:
    return kernel_fits.products(H100, PEAK[H100])


def a100() -> ProductFit:
    """Its small products are as much slower than the H100's in seconds, and not in shares of the peak."""
    found, device = h100(), sim.gpu(A100)
    share = device.top * PEAK[A100] / (found.top * PEAK[H100])
    alike = found._replace(half_area=found.half_area * share, half_depth=found.half_depth * share)
    return kernel_fits.products(A100, PEAK[A100], like=alike)


@pytest.mark.parametrize(("name", "fit"), [(H100, h100), (A100, a100)])
def test_devices_have_what_the_tables_say(name: str, fit: object) -> None:
    device, found = sim.gpu(name), fit()  # type: ignore[operator]
    assert device.top == pytest.approx(found.top * SUSTAINED.get(name, 1), rel=0.01)
    assert device.half_area == pytest.approx(found.half_area, rel=0.01)
    assert device.half_depth == pytest.approx(found.half_depth, rel=0.02)
    assert device.launch / 1e12 == pytest.approx(found.launch, rel=0.01)
    assert device.stream == pytest.approx(2 * kernel_fits.largest("copies", H100) / 3.35e12, rel=0.01)


@pytest.mark.parametrize(("name", "kernel", "head"), HEADS)
def test_attention_has_what_the_tables_say(name: str, kernel: str, head: int) -> None:
    most, half = kernel_fits.attention(name, kernel, head)
    own = sim.gpu(name).attention[f"{kernel}/{head}"]
    assert own[0] == pytest.approx(most / PEAK[name] * (TRITON if kernel == "1" else 1), rel=0.01)
    assert own[1] == pytest.approx(half, rel=0.01)
    errors = [
        most * length / (length + half) / (speed * 1e12) - 1
        for length, speed in kernel_fits.rows_of("attention", name, kernel=kernel, head=head)
    ]
    assert max(map(abs, errors)) < 0.13


def test_the_fit_is_near_its_table() -> None:
    """46 products, of which the smallest reach 8 % of the peak, and the largest 81 %."""
    errors = []
    for row in kernel_fits.rows_of("products", H100, dtype="bfloat16"):
        batch, rows, columns, terms, speed = row
        took = 2 * batch * rows * columns * terms / (speed * 1e12)
        errors.append(abs(h100().seconds(row, PEAK[H100]) / took - 1))
    assert len(errors) == 46 and max(errors) < 0.055 and fmean(errors) < 0.025


def test_a_device_takes_what_the_fit_says() -> None:
    device = sim.gpu(H100, top=h100().top)
    for row in kernel_fits.rows_of("products", H100, dtype="bfloat16"):
        batch, rows, columns, terms, _ = map(int, row)
        product = Product(2 * batch * rows * columns * terms, (rows, columns, terms))
        took = device.time(0, "bfloat16", [product]) / 1e12
        assert took == pytest.approx(h100().seconds(row, PEAK[H100]), rel=0.01)


def test_efficiency_grows_with_every_size_and_with_length() -> None:
    device = sim.gpu("h100")
    sizes = [(64, 64, 64), (128, 64, 64), (128, 128, 64), (128, 128, 128), (4096, 4096, 4096)]
    found = [device.efficiency(each) for each in sizes]
    assert found == sorted(found) and found[-1] < device.top < 1
    batch = device.efficiency((64, 64, 64), flops=8 * 2 * 64**3)  # of eight products at once
    assert batch == device.efficiency((512, 64, 64))
    lengths = [device.efficiency(AttentionSizes(n, 128, "2")) for n in (512, 2048, 65536)]
    assert lengths == sorted(lengths)
    assert device.efficiency(AttentionSizes(512, 96, "2")) in (  # the nearest head
        device.efficiency(AttentionSizes(512, 64, "2")),
        device.efficiency(AttentionSizes(512, 128, "2")),
    )
    assert device.efficiency(AttentionSizes(512, 128, "9")) == device.top  # nobody has measured it


@pytest.mark.parametrize(("one", "other"), [("h200", "h100"), ("a100-40", "a100-80")])
def test_chips_of_one_family_have_one_efficiency(one: str, other: str) -> None:
    a, b = sim.gpu(one), sim.gpu(other)
    assert a.fitted == b.fitted != NOT_FITTED
    for product in ((4096, 4096, 4096), AttentionSizes(4096, 128, "2")):
        assert a.efficiency(product) == b.efficiency(product)
    assert a.memory != b.memory and a.bandwidth != b.bandwidth


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream": 0},
        {"stream": 2},
        {"half_area": -1},
        {"half_depth": "x"},
        {"tops": {"float8": 3}},
        {"tops": 3},
        {"attention": {"2/64": [0.5]}},
        {"attention": {"2/64": [2, 1]}},
        {"attention": {"2/64": "ab"}},
        {"attention": 1},
    ],
)
def test_wrong_efficiencies_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        sim.gpu("h100", **wrong)


@pytest.mark.slow
def test_a_fitted_device_beside_one_that_is_not_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for device in ("h100", "b200"):
        asked = ["plan", "gpt-small", "--gpus", "2", "--simulate", "1", "--device", device, "--jobs", "1"]
        assert cli.main([*asked, "--json", f"{device}.json"]) == 0
        assert json.loads(Path(f"{device}.json").read_text())["layouts"]
    capsys.readouterr()
    cli.main(["diff", "h100.json", "b200.json"])
    assert "nothing is fitted for 2 × B200-SXM" in " ".join(capsys.readouterr().out.split())
    cli.main(["diff", "h100.json", "h100.json"])
    assert "nothing is fitted" not in capsys.readouterr().out
