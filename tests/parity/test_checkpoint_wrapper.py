"""Layers in checkpoint wrappers, in torch and here: names, states, numbers, what is computed again."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")


def used(library: str, reentrant: bool) -> list[Any]:
    t = importlib.import_module(library)
    nn = importlib.import_module(f"{library}.nn")
    home = importlib.import_module(
        f"{library}.distributed.algorithms._checkpoint.checkpoint_wrapper"
    )
    runs: list[str] = []

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, name: str) -> None:
            super().__init__()
            self.layer, self.name = nn.Linear(3, 3), name
            with t.no_grad():
                self.layer.weight.copy_(t.arange(9.0).reshape(3, 3) / 8 - 0.5)
                self.layer.bias.fill_(0.25)

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            runs.append(self.name)
            return (self.layer(x) * scale).relu()

    def model() -> Any:
        return nn.Sequential(
            Block("a"), nn.ModuleDict({"inner": Block("b")})["inner"], nn.Linear(3, 1, bias=False)
        )

    whole = model()
    with t.no_grad():
        whole[2].weight.fill_(0.5)
    state = {name: value.clone() for name, value in whole.state_dict().items()}
    impl = home.CheckpointImpl.REENTRANT if reentrant else home.CheckpointImpl.NO_REENTRANT
    home.apply_activation_checkpointing(
        whole,
        checkpoint_wrapper_fn=functools.partial(home.checkpoint_wrapper, checkpoint_impl=impl),
        check_fn=lambda m: isinstance(m, Block),
    )
    said: list[Any] = [list(whole.state_dict()), [name for name, _ in whole.named_parameters()]]
    said.append([name for name, _ in whole[0].named_parameters()])
    said.append(str(whole.load_state_dict(state)))
    said.append((whole[0].name, type(whole[0]).__name__, type(whole[2]).__name__))
    x = t.ones(2, 3, requires_grad=True)
    whole(x).sum().backward()
    said += [list(runs), x.grad.tolist(), [p.grad.tolist() for p in whole.parameters()]]
    runs.clear()
    alone = home.checkpoint_wrapper(Block("c"), checkpoint_impl=impl)
    alone(t.ones(1, 3, requires_grad=True), scale=2.0).sum().backward()
    said += [list(runs), alone.layer.weight.grad.tolist()]
    wrapped = home.checkpoint_wrapper(nn.Sequential(Block("d"), Block("e")))
    said += [wrapped[1].name, list(wrapped.state_dict())]
    return said


@pytest.mark.parametrize("reentrant", [True, False])
def test_wrapped_layers(reentrant: bool) -> None:
    ours, theirs = used("minitorch_dist", reentrant), used("torch", reentrant)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == other
