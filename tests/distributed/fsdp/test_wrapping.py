"""Which modules become units."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from minitorch_dist import nn
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP
from minitorch_dist.distributed.fsdp.wrap import (
    ModuleWrapPolicy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
)
from minitorch_dist.launching import launch


def model() -> Any:
    return nn.Sequential(
        nn.Linear(10, 10),
        nn.ModuleList([nn.Linear(20, 20), nn.Linear(3, 3)]),
        nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)),
    )


def names(policy: Any, **options: Any) -> list[str]:
    """The names of the modules that became units, as the unwrapped model has them."""

    def rank() -> list[str]:
        whole = FSDP(model(), auto_wrap_policy=policy, **options)
        return [
            name.replace("_fsdp_wrapped_module", "").replace("..", ".").strip(".")
            for name, module in whole.named_modules()
            if isinstance(module, FSDP)
        ]

    return launch(rank, 1)[0]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, [""]),
        (lambda **_: True, ["", "0", "1", "1.0", "1.1", "2", "2.0", "2.1"]),
        (ModuleWrapPolicy({nn.Linear}), ["", "0", "1.0", "1.1", "2.0", "2.1"]),
        (ModuleWrapPolicy([nn.Sequential]), ["", "2"]),
        (functools.partial(size_based_auto_wrap_policy, min_num_params=100), ["", "0", "1.0"]),
        (functools.partial(size_based_auto_wrap_policy, min_num_params=30), ["", "0", "1.0", "2"]),
        (
            functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}),
            ["", "0", "1.0", "1.1", "2.0", "2.1"],
        ),
    ],
)
def test_policies(policy: Any, expected: list[str]) -> None:
    assert names(policy) == expected


def test_a_module_that_hangs_in_the_tree_twice_is_one_unit() -> None:
    def rank() -> int:
        shared = nn.Linear(3, 3)
        whole = FSDP(nn.Sequential(shared, nn.ReLU(), shared), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
        return len(FSDP.fsdp_modules(whole))

    assert launch(rank, 2) == [2, 2]


def test_it_says_what_it_is() -> None:
    def rank() -> str:
        return repr(FSDP(nn.Linear(3, 2)))

    text = launch(rank, 2)[0]
    assert "FullyShardedDataParallel(" in text
    assert "<Unit of weight, bias: 8 elements, 2 shards of 4, sharded>" in text
