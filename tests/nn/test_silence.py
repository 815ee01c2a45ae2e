"""Layers and losses compute with inf, nan and overflow without a word, as torch does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.nn import functional as F

BAD = [float("inf"), -float("inf"), float("nan"), 3e38, 0.0]


def tensor(*shape: int) -> Any:
    values = [BAD[i % len(BAD)] for i in range(mtd.zeros(shape).numel())]
    return mtd.tensor(values).reshape(shape).requires_grad_()


CASES: dict[str, Callable[[], Any]] = {
    "linear": lambda: F.linear(tensor(4, 3), tensor(5, 3), tensor(5)),
    "conv2d": lambda: F.conv2d(tensor(2, 3, 6, 6), tensor(4, 3, 3, 3), padding=1),
    "conv2d, wide": lambda: F.conv2d(tensor(2, 16, 18, 18), tensor(16, 16, 3, 3), padding=1),
    "conv2d, 1×1": lambda: F.conv2d(tensor(2, 3, 6, 6), tensor(4, 3, 1, 1)),
    "conv2d, strided": lambda: F.conv2d(tensor(2, 3, 6, 6), tensor(4, 3, 3, 3), stride=2),
    "conv2d, grouped": lambda: F.conv2d(tensor(2, 4, 6, 6), tensor(4, 1, 3, 3), groups=4),
    "conv_transpose2d": lambda: F.conv_transpose2d(tensor(2, 3, 4, 4), tensor(3, 2, 3, 3)),
    "max_pool2d": lambda: F.max_pool2d(tensor(2, 3, 6, 6), 2),
    "avg_pool2d": lambda: F.avg_pool2d(tensor(2, 3, 6, 6), 2),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(tensor(2, 3, 6, 6), 1),
    "batch_norm": lambda: F.batch_norm(tensor(5, 3, 2), None, None, training=True),
    "batch_norm, eval": lambda: F.batch_norm(tensor(5, 3), mtd.zeros(3), mtd.ones(3)),
    "layer_norm": lambda: F.layer_norm(tensor(5, 3), (3,), tensor(3), tensor(3)),
    "rms_norm": lambda: F.rms_norm(tensor(5, 3), (3,), tensor(3)),
    "group_norm": lambda: F.group_norm(tensor(5, 4, 3), 2),
    "normalize": lambda: F.normalize(tensor(5, 3)),
    "dropout": lambda: F.dropout(tensor(5, 3)),
    "dropout2d": lambda: F.dropout2d(tensor(2, 3, 2, 2)),
    "embedding": lambda: F.embedding(mtd.tensor([0, 1, 1]), tensor(3, 4)),
    "attention": lambda: F.scaled_dot_product_attention(tensor(2, 3, 4), tensor(2, 3, 4), tensor(2, 3, 4)),
    "LSTM": lambda: mtd.nn.LSTM(3, 4)(tensor(5, 2, 3))[0],
    "GRU": lambda: mtd.nn.GRU(3, 4)(tensor(5, 2, 3))[0],
    "RNN": lambda: mtd.nn.RNN(3, 4, nonlinearity="relu")(tensor(5, 2, 3))[0],
    "transformer layer": lambda: mtd.nn.TransformerEncoderLayer(4, 2, 8)(tensor(3, 2, 4)),
    "mse_loss": lambda: F.mse_loss(tensor(4, 3), tensor(4, 3) * 2),
    "l1_loss": lambda: F.l1_loss(tensor(4, 3), tensor(4, 3) * 2),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(tensor(4, 3), mtd.zeros(4, 3)),
    "huber_loss": lambda: F.huber_loss(tensor(4, 3), mtd.zeros(4, 3)),
    "cross_entropy": lambda: F.cross_entropy(tensor(4, 3), mtd.tensor([0, 1, 2, 0])),
    "cross_entropy, smooth": lambda: F.cross_entropy(tensor(4, 3), mtd.tensor([0, 1, 2, 0]), label_smoothing=0.1),
    "cross_entropy, probabilities": lambda: F.cross_entropy(tensor(4, 3), mtd.ones(4, 3) / 3),
    "nll_loss": lambda: F.nll_loss(tensor(4, 3), mtd.tensor([0, 1, 2, 0]), tensor(3).detach()),
    "bce": lambda: F.binary_cross_entropy(mtd.tensor([0.0, 1, 0.5]).requires_grad_(), mtd.tensor([1.0, 0, 1])),
    "bce with logits": lambda: F.binary_cross_entropy_with_logits(tensor(5), mtd.ones(5)),
    "kl_div": lambda: F.kl_div(tensor(4, 3), mtd.ones(4, 3) / 3, reduction="batchmean"),
    "pixel_shuffle": lambda: F.pixel_shuffle(tensor(1, 4, 2, 2), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_not_a_word(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = CASES[name]()
        out.sum().backward()


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers_do_not_speak_either(optimizer: str) -> None:
    weight = mtd.nn.Parameter(tensor(5).detach())
    weight.grad = tensor(5).detach()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(mtd.optim, optimizer)([weight], lr=1e30, weight_decay=1e30).step()


def test_clipping_does_not_speak_either() -> None:
    weight = mtd.nn.Parameter(mtd.ones(5))
    weight.grad = tensor(5).detach()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mtd.nn.utils.clip_grad_norm_([weight], 1.0)
