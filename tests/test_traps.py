"""The traps of the tutorials, and the edge cases beside them, one short test each.

T1 … T19 are numbered as in docs/same_and_different.md; those of process groups, DDP, FSDP and RPC come
with their floors. Each test is what a person pastes, and what they must meet.
"""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import cuda, models, nn, optim
from minitorch_dist.nn import functional as F


def test_t1_a_forward_of_one_argument_refuses_two() -> None:
    class TrainerNet(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        TrainerNet()(torch.zeros(1), -1)


def test_t3_a_step_between_forward_and_backward_is_an_error_that_says_what_was_written() -> None:
    model = models.ConvNet().eval()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    first, second = (F.nll_loss(model(torch.randn(2, 1, 28, 28)), torch.tensor([1, 2])) for _ in "ab")
    first.backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        second.backward()
    text = str(caught.value)
    assert "torch.FloatTensor [10, 128]" in text and "is at version" in text and "expected version" in text


def test_t4_channel_dropout_on_a_matrix_warns_and_drops_elements() -> None:
    dropout = nn.Dropout2d(0.5)
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout2d"):
        out = dropout(torch.ones(200, 50))
    kept = (out != 0).float().mean().item()
    assert 0.45 < kept < 0.55 and set(out.unique().tolist()) == {0.0, 2.0}
    assert 0 < (out != 0)[0].sum().item() < 50  # not whole rows


def test_t5_split_takes_a_size_and_not_a_number_of_pieces() -> None:
    x = torch.zeros(120, 3)
    assert len(x.split(1)) == 120 and len(x.split(8)) == 15
    assert [len(p) for p in torch.zeros(7).split(3)] == [3, 3, 1]
    assert all(piece._base is x for piece in x.split(50))
    with pytest.raises(RuntimeError, match="expects split_sizes to sum exactly"):
        x.split([60, 61])


def test_t8_without_devices_torch_refuses_and_so_do_we(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_DIST_DEVICES", raising=False)
    assert not cuda.is_available() and cuda.device_count() == 0
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        nn.Linear(2, 2).to(0)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.zeros(1).to("cuda:0")


def test_t8_with_devices_the_same_lines_run() -> None:
    with cuda.simulated(2, "1GB"):
        model = nn.Linear(2, 2).to(1)
        assert str(model(torch.ones(3, 2).cuda(1)).device) == "cuda:1"
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            model(torch.ones(3, 2))


def test_t18_tensors_are_keys_by_identity() -> None:
    a, b = torch.ones(2), torch.ones(2)
    table = {a: "a", b: "b"}
    assert len(table) == 2 and table[a] == "a" and a in table and hash(a) == id(a)


# ------------------------------------------------------------------------- tensors, edge by edge


def test_legacy_constructors_take_a_shape_or_a_sequence() -> None:
    assert torch.LongTensor(3).shape == (3,) and torch.LongTensor([3]).tolist() == [3]
    assert torch.LongTensor(4).random_(0, 5).view(4, 1).shape == (4, 1)
    with pytest.raises(TypeError, match="new"):
        torch.LongTensor(3.0)


def test_scatter_writes_one_hot_labels_and_refuses_what_is_out_of_range() -> None:
    index = torch.tensor([[1], [0]])
    assert torch.zeros(2, 3).scatter_(1, index, 1).tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(RuntimeError, match="index 6 is out of bounds for dimension 1 with size 5"):
        torch.zeros(2, 5).scatter_(1, torch.tensor([[6], [0]]), 1)


def test_cat_promotes_and_needs_something() -> None:
    assert torch.cat([torch.ones(1), torch.ones(1, dtype=torch.int64)]).dtype is torch.float32
    with pytest.raises(ValueError, match="expected a non-empty list of Tensors"):
        torch.cat([])
    assert torch.cat([torch.zeros(0), torch.ones(2, 2)]).shape == (2, 2)


def test_data_edits_are_not_counted_and_no_grad_is_private_to_a_thread() -> None:
    p = nn.Parameter(torch.ones(2))
    before = p._version
    p.data /= 2
    assert p._version == before and p.tolist() == [0.5, 0.5]


def test_an_inplace_relu_after_a_convolution_is_legal_and_saves_nothing_twice() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True))
    net(torch.randn(2, 1, 5, 5)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


# ------------------------------------------------------------------------------- layers, edge by edge


def test_batch_norm_needs_more_than_one_value_and_keeps_the_unbiased_variance() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        nn.BatchNorm1d(2)(torch.randn(1, 2))
    norm = nn.BatchNorm1d(2)
    x = torch.randn(8, 2)
    norm(x)
    assert torch.allclose(norm.running_var, 0.9 + 0.1 * x.var(0)) and norm.num_batches_tracked == 1


def test_losses_refuse_targets_of_the_wrong_kind() -> None:
    log_p = torch.zeros(2, 4)
    with pytest.raises(RuntimeError, match="class indices of the type int64 or uint8"):
        F.nll_loss(log_p, torch.zeros(2))
    with pytest.raises(IndexError, match=r"Target 7 is out of bounds\."):
        F.nll_loss(log_p, torch.tensor([0, 7]))
    with pytest.warns(UserWarning, match="incorrect results due to broadcasting"):
        nn.MSELoss()(torch.zeros(3, 1), torch.zeros(3))


def test_kaiming_with_fan_out_is_what_resnet_expects() -> None:
    weight = torch.empty(64, 3, 7, 7)
    assert nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu") is weight
    assert abs(weight.std().item() - 0.0253) < 0.001


def test_the_first_momentum_is_a_copy_of_the_gradient_and_zero_grad_forgets() -> None:
    p = nn.Parameter(torch.zeros(2))
    optimizer = optim.SGD([p], lr=0.0, momentum=0.9)
    p.grad = torch.tensor([1.0, 2.0])
    optimizer.step()
    buffer = optimizer.state[p]["momentum_buffer"]
    assert buffer.tolist() == [1.0, 2.0] and buffer.data_ptr() != p.grad.data_ptr()
    optimizer.zero_grad()
    assert p.grad is None


def test_loading_a_state_dict_writes_in_place_so_that_the_optimizer_stays_valid() -> None:
    model = nn.Linear(2, 2)
    weight = model.weight
    model.load_state_dict({"weight": torch.zeros(2, 2), "bias": torch.zeros(2)})
    assert model.weight is weight and weight.sum().item() == 0
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "bias"'):
        model.load_state_dict({"weight": torch.zeros(2, 2)})


def test_a_checkpoint_goes_to_the_device_the_map_names_and_stays_where_it_does_not(tmp_path: Any) -> None:
    with cuda.simulated(3, "1GB"):
        path = str(tmp_path / "model.checkpoint")
        torch.save({"a": torch.ones(2, device="cuda:0"), "b": torch.ones(2, device="cuda:1")}, path)
        loaded = torch.load(path, map_location={"cuda:0": "cuda:2"})
        assert [str(loaded[k].device) for k in "ab"] == ["cuda:2", "cuda:1"]
