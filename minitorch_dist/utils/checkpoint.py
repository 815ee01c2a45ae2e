"""Activation checkpointing: trade time for memory by computing a function's inside twice.

    y = checkpoint(layer, x, use_reentrant=False)

Nothing that `layer` computes on the way is kept. When the backward pass needs it, `layer(x)` runs
once more, with the same random numbers. There are two ways to do that, as in torch:

* `use_reentrant=False`: the graph is recorded as always, but its nodes forget what they keep and
  fill themselves again (see `checkpoint_segment`). Hooks, order, `autograd.grad` and `inputs=` are
  as without a checkpoint.
* `use_reentrant=True`: the forward runs without recording and becomes a single node. Its backward
  records the function and runs a backward pass of its own inside the one that is under way.

Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, arXiv:1604.06174.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.autograd.function import Function
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core import engine
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.copying import detach
from minitorch_dist.tensors.ops.gradients import backward
from minitorch_dist.utils.checkpoint_segment import (
    CheckpointError as CheckpointError,
    CheckpointSegment,
)

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, computed again for the backward pass instead of remembered.

    `preserve_rng_state=False` does without the same random numbers. `context_fn` returns two
    contexts, for the first and the second run. `determinism_check="none"` does not compare shapes
    and types of the second run with those of the first. The second run always goes to its end, and
    errors always name what differed: `early_stop` and `debug` change nothing.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
            "the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ('default', 'none') but got {determinism_check}"
        )
    return _without_reentry(
        lambda: function(*args, **kwargs),
        [*args, *kwargs.values()],
        context_fn,
        determinism_check == "default",
        preserve,
    )


@contextmanager
def _random_state(state: Any) -> Iterator[None]:
    """Draw from `state` inside, and afterwards go on as if nothing had been drawn."""
    if state is None:
        yield
        return
    outside = generator.get_rng_state()
    generator.set_rng_state(state)
    try:
        yield
    finally:
        generator.set_rng_state(outside)


# ------------------------------------------------------------------------------- without re-entry


def _without_reentry(
    call: Callable[[], Any],
    inputs: list[Any],
    context_fn: Callable[[], Contexts],
    check: bool,
    preserve: bool,
) -> Any:
    first, second = context_fn()
    if not grad_modes.is_grad_enabled():
        with first:
            return call()
    state, casting = generator.get_rng_state() if preserve else None, autocasting.present.get()

    def again() -> Any:
        with grad_modes.enable_grad(), _random_state(state), autocasting.as_of(casting), second:
            return call()

    with autocasting.as_of(casting), first:
        return CheckpointSegment(again, inputs, check).record(call)


# ----------------------------------------------------------------------------------- with re-entry


class CheckpointFunction(Function):
    """The function as a single node."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        if not any(isinstance(a, TensorBase) and a.requires_grad for a in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4
            )
        ctx.function = function
        ctx.state = generator.get_rng_state() if preserve else None
        ctx.casting = autocasting.present.get()
        ctx.args = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        running = engine.current.get()
        if running is not None and running.wanted is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = detach(tensor)
            args[place].requires_grad = tensor.requires_grad
        with _random_state(ctx.state), autocasting.as_of(ctx.casting), grad_modes.enable_grad():
            outputs = ctx.function(*args)
        if isinstance(outputs, TensorBase):
            outputs = (outputs,)
        pairs = [
            (out, grad)
            for out, grad in zip(outputs, grads, strict=True)
            if isinstance(out, TensorBase) and out.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return None, None, *[a.grad if isinstance(a, TensorBase) else None for a in args]


not_offered.guard(globals())
