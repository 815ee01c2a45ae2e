"""Random programs of views and in-place writes, run in torch and here.

Each program is a list of small steps on a pool of tensors. Both sides take the same steps until one
raises; then the other must have raised the same error. Else values, flags and gradients are equal.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.parity.compare import mtd, torch
from tests.parity.test_backward import close, leaf, plain

pytestmark = pytest.mark.parity

Step = tuple[str, int, int]

VIEWS: dict[str, Any] = {
    "first": lambda x: x[0] if x.dim() else x.view(1),
    "last": lambda x: x[-1:] if x.dim() else x.unsqueeze(0),
    "even": lambda x: x[..., ::2] if x.dim() else x.view(1),
    "turn": lambda x: x.transpose(0, -1) if x.dim() else x.unsqueeze(-1),
    "flat": lambda x: x.view(-1),
    "taller": lambda x: x.unsqueeze(0),
    "wide": lambda x: x.expand(2, *x.shape),
    "piece": lambda x: x.unbind(0)[0] if x.dim() else x.view(()),
    "half": lambda x: x.split(1)[0] if x.dim() else x.view(()),
    "loose": lambda x: x.detach(),
}

WRITES: dict[str, Any] = {
    "scale": lambda x, y: x.mul_(2),
    "shift": lambda x, y: x.add_(1),
    "times": lambda x, y: x.mul_(y),
    "plus": lambda x, y: x.add_(y),
    "copy": lambda x, y: x.copy_(y),
    "clip": lambda x, y: x.relu_(),
    "clear": lambda x, y: x.zero_(),
    "item": lambda x, y: x.__setitem__(0, y),
    "end": lambda x, y: x.__setitem__((Ellipsis, slice(-1, None)), 3.0),
}

FRESH: dict[str, Any] = {
    "product": lambda x, y: x * y,
    "sum": lambda x, y: x + y,
    "same": lambda x, y: x.clone(),
    "square": lambda x, y: x * x,
    "sine": lambda x, y: x.sin(),
}


def run(t: Any, steps: list[Step], with_grad: bool = True) -> Any:
    base = leaf(t, 2, 3)
    other = leaf(t, 3)
    plain_one = t.ones(2, 3) * 0.5
    pool = [base * 1, other * 0.5, plain_one, base, other]
    log: list[Any] = []
    for name, first, second in steps:
        x, y = pool[first % len(pool)], pool[second % len(pool)]
        if name in VIEWS:
            pool.append(VIEWS[name](x))
        elif name in FRESH:
            pool.append(FRESH[name](x, y))
        elif name.startswith("quietly "):
            with t.no_grad():
                inner = name.removeprefix("quietly ")
                if inner in VIEWS:
                    pool.append(VIEWS[inner](x))
                else:
                    WRITES[inner](x, y)
        else:
            WRITES[name](x, y)
        log.append([p._version for p in pool])
    if not any(name.removeprefix("quietly ") in VIEWS for name, _, _ in steps if " " in name):
        log.append([(p.requires_grad, p.is_leaf) for p in pool])
    log.append([p._base is not None for p in pool])
    loss = t.zeros(())
    for p in pool:
        loss = loss + (p * p).sum()
    loss.backward()
    return log, base.grad, other.grad, pool


names = st.sampled_from([*VIEWS, *WRITES, *FRESH, *WRITES, *(f"quietly {n}" for n in (*VIEWS, *WRITES))])
programs = st.lists(st.tuples(names, st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=8)


REFUSED = ("a leaf Variable", "a view of a leaf Variable", "A view was created in no_grad", "is a view and")
OVERLAP = "refer to a single memory location"  # torch refuses; numpy computes it rightly
EXPANDED = "refers to a single memory location"  # torch lets one number be written there


def ending(t: Any, steps: list[Step]) -> Any:
    """What a program returned, or the kind of its error."""
    try:
        return plain(run(t, steps))
    except Exception as error:
        text = str(error)
        for sentence in (OVERLAP, EXPANDED, "modified by an inplace operation"):
            if sentence in text:
                return type(error).__name__, sentence
        return type(error).__name__, "refused" if any(s in text for s in REFUSED) else ""


def alike(theirs: Any, ours: Any) -> bool:
    """The same values, or an error of the same kind; which of two shape errors comes first is free."""
    if OVERLAP in theirs or EXPANDED in ours:
        return True
    if isinstance(theirs, tuple) and isinstance(ours, tuple) and isinstance(ours[0], str):
        return theirs[0] == ours[0] and (theirs[1] == ours[1] or "" in (theirs[1], ours[1]))
    return close(theirs, ours)


@settings(max_examples=400)
@given(programs)
def test_random_programs(steps: list[Step]) -> None:
    theirs, ours = ending(torch, steps), ending(mtd, steps)
    assert alike(theirs, ours), f"torch: {theirs}\nhere: {ours}"
