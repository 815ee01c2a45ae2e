"""Writing to what a backward pass will read is an error, by whichever operation it is written."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mtd

Tensor = mtd.Tensor

NOT_WRITES = {"requires_grad_", "detach_", "retain_grad_",
              "resize_"}  # fmt: skip  # this changes the window, not the bytes
WRITES = sorted(
    name for name in dir(Tensor) if name.endswith("_") and not name.startswith("_") and name not in NOT_WRITES
)


def index() -> Any:
    return mtd.tensor([0, 1, 2])


ARGUMENTS: list[Any] = [
    lambda: (),
    lambda: (mtd.ones(3),),
    lambda: (1,),
    lambda: (1, 2.0),
    lambda: (mtd.ones(3), mtd.ones(3)),
    lambda: (mtd.ones(3) > 0, 2.0),
    lambda: (mtd.ones(3) > 0, mtd.ones(3)),
    lambda: (0, index(), mtd.ones(3)),
    lambda: (0, index(), mtd.ones(3), "sum"),
    lambda: (0, index(), 1.0),
    lambda: ((index(),), mtd.ones(3)),
    lambda: (index(), mtd.ones(3)),
    lambda: (2.0, 0, 1.0),
]

SPECIAL: dict[str, Any] = {  # those that need another shape, or arguments of their own
    "map_": ((3,), lambda: (mtd.ones(3), lambda v, w: v + w)),
    "tril_": ((3, 3), lambda: ()),
    "triu_": ((3, 3), lambda: ()),
}


def write(name: str, x: Any) -> bool:
    """Call the method with the first arguments it accepts."""
    for arguments in [SPECIAL[name][1]] if name in SPECIAL else ARGUMENTS:
        try:
            getattr(x, name)(*arguments())
        except (TypeError, RuntimeError, ValueError, IndexError, AttributeError):
            continue
        return True
    return False


@pytest.mark.parametrize("name", WRITES)
def test_a_write_after_the_forward_is_noticed(name: str) -> None:
    shape = SPECIAL[name][0] if name in SPECIAL else (3,)
    w = mtd.full(shape, 0.25).requires_grad_()
    x = mtd.full(shape, 0.5)
    if not write(name, mtd.full(shape, 0.5)):
        x = mtd.ones(3, dtype=mtd.int64)  # bitwise ones
        assert write(name, x), f"{name} accepts none of these arguments: add some to SPECIAL"
        assert x._version > 0
        return
    for target in (x, x[:], x.detach()):  # any window on the same bytes
        out = (w * x).sum()
        before = x._version
        write(name, target)
        assert x._version == target._version > before
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_data_is_written_without_a_trace() -> None:
    w = mtd.ones(3).requires_grad_()
    loss = (w * w).sum()
    w.data.mul_(10)
    assert w._version == 0 and w.tolist() == [10, 10, 10]
    loss.backward()  # torch's way round the check; the gradient reads what is there now
    assert w.grad.tolist() == [20, 20, 20]


def test_an_update_between_forward_and_backward() -> None:
    """T3: two trainers share one model; one steps while the other is between its two passes."""
    w = mtd.ones(3).requires_grad_()
    first, second = (w * w).sum(), (w * w).sum()
    first.backward()
    with mtd.no_grad():
        w.add_(w.grad, alpha=-0.1)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3\]\].*version 1; expected version 0"):
        second.backward()


def test_what_is_not_read_may_be_written() -> None:
    x, w = mtd.ones(3), mtd.ones(3).requires_grad_()
    out = (w + x).sum()
    x.add_(1)
    out.backward()
    assert w.grad.tolist() == [1, 1, 1]


def test_inference_tensors_have_no_version() -> None:
    with mtd.inference_mode():
        x = mtd.ones(3)
        x.add_(1)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = x._version
    assert x.is_inference() and not x.clone().is_inference()
