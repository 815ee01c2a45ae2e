"""With a device, torch's functions are priced as the kernels of its build for CUDA, and compute what they compute on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from minitorch_dist import sim

DEVICE = sim.gpu("h100", launch=0)
WIDTH, ROWS = 64, 32


def _names(program: Any, shapes: bool, device: Any = DEVICE) -> dict[str, int]:
    """How often each operation was priced."""
    used = sim.run(program, 1, device=device, shapes=shapes).ranks[0].device
    assert used is not None
    return {name: count for name, (count, _) in used.operations.items()}


def _norm() -> list[torch.Tensor]:
    norm, x = nn.RMSNorm(WIDTH), torch.linspace(-1, 2, ROWS * WIDTH).reshape(ROWS, WIDTH).requires_grad_()
    y = norm(x)
    (y * x.detach().cos()).sum().backward()
    assert x.grad is not None and norm.weight.grad is not None
    return [y.detach(), x.grad, norm.weight.grad]


@pytest.mark.parametrize("shapes", [False, True])
def test_rms_norm_is_one_kernel_forward_and_one_backward(shapes: bool) -> None:
    found = _names(_norm, shapes)
    assert found["_fused_rms_norm"] == found["_fused_rms_norm_backward"] == 1
    assert not {"rsqrt", "mean"} & set(found)
    report = sim.run(_norm, 1, device=DEVICE, shapes=shapes)
    used = report.ranks[0].device
    assert used is not None
    nbytes = 4 * (
        2 * ROWS * WIDTH + WIDTH + ROWS
    )  # reads the input and the weight, writes the output and a number for each row
    assert used.operations["_fused_rms_norm"][1] == DEVICE.time(nbytes)


def test_rms_norm_has_the_numbers_of_the_cpu_and_the_run_leaves_nothing() -> None:
    before = _norm()
    (within,) = sim.run(_norm, 1, device=DEVICE).results
    for one, other in zip(before, within, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(before, _norm(), strict=True):
        assert torch.equal(one, other)
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::_fused_rms_norm", "CPU")


def _drop() -> tuple[float, float, bool]:
    x = torch.ones(1000, requires_grad=True)
    y = F.dropout(x, 0.25)
    y.sum().backward()
    assert x.grad is not None
    assert F.dropout(x, 0.25, training=False) is x and not F.dropout(x, 1.0).any()
    return y.max().item(), (y == 0).float().mean().item(), torch.equal(y, x.grad)


def test_dropout_is_one_kernel_forward_and_one_backward() -> None:
    (found,) = sim.run(_drop, 1, device=DEVICE).results
    most, dropped, is_same = found
    assert most == pytest.approx(4 / 3) and 0.2 < dropped < 0.3 and is_same
    names = _names(_drop, False)
    assert names["native_dropout"] == 2 and names["native_dropout_backward"] == 1
    assert "bernoulli_" not in names


def _attend(dropout: float) -> None:
    parts = [torch.zeros(2, 4, 512, 32, requires_grad=True) for _ in range(3)]
    F.scaled_dot_product_attention(*parts, dropout_p=dropout, is_causal=True).sum().backward()


def _attend_and_drop() -> None:
    _attend(0.1)


def _attend_only() -> None:
    _attend(0.0)


def test_attention_that_drops_weights_makes_no_matrix_of_them() -> None:
    drops, none = (sim.run(each, 1, device=DEVICE, shapes=True) for each in (_attend_and_drop, _attend_only))
    assert drops.time == none.time > 0
    assert drops.ranks[0].peak_bytes == none.ranks[0].peak_bytes


def _many_parameters() -> list[torch.Tensor]:
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(4)])
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        net(torch.ones(2, 8)).sum().backward()
        optimizer.step()
    return [each.detach() for each in net.parameters()]


@pytest.mark.parametrize("shapes", [False, True])
def test_an_optimizer_takes_lists_of_parameters(shapes: bool) -> None:
    found = _names(_many_parameters, shapes)
    assert found["_foreach_addcdiv_"] == 2 and "addcdiv_" not in found
    if not shapes:
        for one, other in zip(_many_parameters(), sim.run(_many_parameters, 1, device=DEVICE).results[0], strict=True):
            torch.testing.assert_close(one, other)
