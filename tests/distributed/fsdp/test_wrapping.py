"""Which modules become units."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from minitorch_dist import nn
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP
from minitorch_dist.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    _or_policy,
    always_wrap_policy,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)
from minitorch_dist.launching import launch


def model() -> Any:
    return nn.Sequential(
        nn.Linear(10, 10), nn.ModuleList([nn.Linear(20, 20), nn.Linear(3, 3)]),
        nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)),
    )  # fmt: skip


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
        (always_wrap_policy, ["", "0", "1", "1.0", "1.1", "2", "2.0", "2.1"]),
        (ModuleWrapPolicy({nn.Linear}), ["", "0", "1.0", "1.1", "2.0", "2.1"]),
        (ModuleWrapPolicy([nn.Sequential]), ["", "2"]),
        (functools.partial(size_based_auto_wrap_policy, min_num_params=100), ["", "0", "1.0"]),
        (functools.partial(size_based_auto_wrap_policy, min_num_params=30), ["", "0", "1.0", "2"]),
        (functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}),
         ["", "0", "1.0", "1.1", "2.0", "2.1"]),
        (functools.partial(lambda_auto_wrap_policy,
                           lambda_fn=lambda m: isinstance(m, nn.Linear) and m.in_features > 9),
         ["", "0", "1.0"]),
        (functools.partial(_or_policy, policies=[
            functools.partial(size_based_auto_wrap_policy, min_num_params=400),
            ModuleWrapPolicy({nn.Sequential})]), ["", "1.0", "2"]),
        (CustomPolicy(lambda m: isinstance(m, nn.Linear) and m.in_features == 3), ["", "1.1"]),
    ],
)  # fmt: skip
def test_policies(policy: Any, expected: list[str]) -> None:
    assert names(policy) == expected


def test_a_custom_policy_gives_options_of_its_own() -> None:
    def rank() -> list[bool]:
        policy = CustomPolicy(
            lambda m: {"forward_prefetch": True} if isinstance(m, nn.Linear) else False
        )
        whole = FSDP(model(), auto_wrap_policy=policy)
        return [m._prefetcher.forward_prefetch for m in FSDP.fsdp_modules(whole)]

    assert launch(rank, 1)[0] == [False, True, True, True, True, True]
    with pytest.raises(ValueError, match="should return False/True or a kwarg dict"):
        names(CustomPolicy(lambda _: "yes"))  # type: ignore[arg-type, return-value]


def test_wrap_only_inside_of_enable_wrap() -> None:
    def rank() -> None:
        assert isinstance(wrap(nn.Linear(2, 2)), nn.Linear)
        with enable_wrap(wrapper_cls=FSDP, forward_prefetch=True):
            one = wrap(nn.Linear(2, 2))
            other = wrap(nn.Linear(2, 2), forward_prefetch=False)
        assert isinstance(one, FSDP)
        assert one._prefetcher.forward_prefetch
        assert not other._prefetcher.forward_prefetch  # type: ignore[attr-defined]

    launch(rank, 1)


def test_a_module_that_hangs_in_the_tree_twice_is_one_unit() -> None:
    def rank() -> int:
        shared = nn.Linear(3, 3)
        whole = FSDP(
            nn.Sequential(shared, nn.ReLU(), shared), auto_wrap_policy=ModuleWrapPolicy({nn.Linear})
        )
        return len(FSDP.fsdp_modules(whole))

    assert launch(rank, 2) == [2, 2]


def test_it_says_what_it_is() -> None:
    def rank() -> str:
        return repr(FSDP(nn.Linear(3, 2)))

    text = launch(rank, 2)[0]
    assert "FullyShardedDataParallel(" in text
    assert "<Unit of weight, bias: 8 elements, 2 shards of 4, sharded>" in text
