"""Activation checkpointing: trade time for memory by computing a function's inside twice.

    y = checkpoint(layer, x)

Nothing that `layer` computes on the way is kept. When the backward pass needs it, `layer(x)` runs
once more, with the same random numbers. The graph is recorded as always, but its nodes forget what
they keep and fill themselves again (see `checkpoint_segment`). So hooks, order, `autograd.grad` and
`inputs=` are as without a checkpoint.

Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, arXiv:1604.06174.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.utils.checkpoint_segment import CheckpointError as CheckpointError, CheckpointSegment


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, computed again for the backward pass instead of remembered.

    Args:
        function: The function.
        *args: Its positional arguments.
        use_reentrant: Accepted as in torch; it changes nothing.
        preserve_rng_state: Draw the same random numbers again.
        **kwargs: Its keyword arguments.

    Returns:
        What the function returned.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).backward()
        >>> round(x.grad.item(), 3)
        20.086
    """
    if not grad_modes.is_grad_enabled():
        return function(*args, **kwargs)
    state = generator.get_rng_state() if preserve_rng_state else None
    casting = autocasting.present.get()

    def again() -> Any:
        with grad_modes.enable_grad(), _random_state(state), autocasting.as_of(casting):
            return function(*args, **kwargs)

    segment = CheckpointSegment(again, [*args, *kwargs.values()])
    with autocasting.as_of(casting):
        return segment.record(lambda: function(*args, **kwargs))


@contextmanager
def _random_state(state: Tensor | None) -> Iterator[None]:
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


not_offered.guard(globals())
