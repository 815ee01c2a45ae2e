"""Arguments for any operation: lists that many of them accept, and those of operations that accept none of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import minitorch_dist as mtd
from tests.shape_arrays.agreeing import leaves


class Form(NamedTuple):
    """How the tensors of a call look."""

    shape: tuple[int, ...]
    layout: str = "plain"  # or "turned" in memory, or "stepped"
    kind: Any = mtd.float32


class Maker:
    """Makes the arguments of one call, always the same ones."""

    def __init__(self, form: Form) -> None:
        self.form, self.shape = form, form.shape
        self.side = self.shape[0] if self.shape else 2  # the number of samples
        self.last = len(self.shape) - 1
        self.inputs: list[Any] = []  # what can have a gradient

    def of(self, *shape: int) -> Any:
        """A tensor between 0.2 and 0.8 if it has fractions, else of ones."""
        kind, layout = self.form.kind, self.form.layout
        held = shape[::-1] if layout == "turned" else shape
        if layout == "stepped" and shape:
            held = (*shape[:-1], shape[-1] * 2)
        has_fractions = kind.is_complex or kind.is_floating_point
        made = (mtd.rand(held) * 0.6 + 0.2).to(kind) if has_fractions else mtd.ones(held, dtype=kind)
        if layout == "turned":
            return made.permute(*range(len(shape))[::-1])
        return made[..., ::2] if layout == "stepped" and shape else made

    def grad(self, *shape: int) -> Any:
        """A tensor of the form's shape, or of another one. It has a gradient if its type can."""
        made = self.of(*(shape or self.shape)).detach()
        if not (made.is_floating_point() or made.is_complex()):
            return made
        self.inputs.append(made.requires_grad_())
        return made * 1

    def index(self, *shape: int) -> Any:
        return mtd.zeros(shape or self.shape, dtype=mtd.int64)

    def lines(self) -> Any:
        return self.index()[:, 0] if self.last > 0 else self.index()

    def mask(self) -> Any:
        return self.index() == 0

    def square(self) -> Any:
        return (mtd.eye(3) * 2 + 0.1).to(self.form.kind)


Arguments = Callable[[Maker], tuple[Any, ...]]


def called(function: Callable[..., Any], make: Arguments, form: Form) -> Any:
    """All that it returns, its arguments afterwards, and the gradients that reach them from the sum of all results."""
    maker = Maker(form)
    given = make(maker)
    words = given[-1] if given and isinstance(given[-1], dict) else {}
    found = leaves(function(*given[: len(given) - bool(words)], **words))
    parts = [x for x in found if isinstance(x, mtd.Tensor) and x.requires_grad]
    gradients: Any = ()
    if parts and maker.inputs:
        ones = [mtd.ones_like(x) for x in parts]
        gradients = mtd.autograd.grad(parts, maker.inputs, ones, allow_unused=True)
    after = [x for x in leaves(given) if isinstance(x, mtd.Tensor)]
    # How a gradient lies in memory is nobody's promise, so it is laid anew.
    return found, after, [None if x is None else x.reshape(-1).reshape(x.shape) for x in gradients]


GENERAL: list[Arguments] = [
    lambda m: (m.grad(),),
    lambda m: (m.grad(), m.grad()),
    lambda m: (m.grad(), m.grad(), m.grad()),
    lambda m: (m.grad(), 2),
    lambda m: (m.grad(), 0),
    lambda m: (m.grad(), m.last),
    lambda m: (m.grad(), 0, m.last),
    lambda m: (m.grad(), 1, m.last),
    lambda m: (m.grad(), 0.5),
    lambda m: (m.grad(), 0.2, 0.7),
    lambda m: (m.grad(), m.shape),
    lambda m: (m.grad(), (2, *m.shape)),
    lambda m: (m.grad(), (-1,)),
    lambda m: (m.grad(), [1] * len(m.shape)),
    lambda m: (m.grad(), tuple(range(len(m.shape)))[::-1]),
    lambda m: (m.grad(), m.grad(), 1, 0.5),
    lambda m: (m.grad(), 0, m.index()),
    lambda m: (m.grad(), 0, m.index(), m.grad()),
    lambda m: (m.grad(), 0, m.lines()),
    lambda m: (m.grad(), 0, m.lines(), m.grad()),
    lambda m: (m.grad(), m.index()),
    lambda m: (m.grad(), m.mask()),
    lambda m: (m.grad(), m.mask(), 0.5),
    lambda m: (m.grad(), m.mask(), m.grad()),
    lambda m: (m.mask(), m.grad(), m.grad()),
    lambda m: (m.index(),),
    lambda m: (m.index(), m.index() + 1),
    lambda m: (m.index(), 2),
    lambda m: (m.index(), m.grad()),
    lambda m: (m.mask(),),
    lambda m: (m.mask(), m.mask()),
    lambda m: ([m.grad(), m.grad()],),
    lambda m: ([m.grad(), m.grad()], m.last),
    lambda m: (m.square(),),
    lambda m: (m.square(), m.square()),
    lambda m: (m.square(), 2),
    lambda m: (m.shape,),
    lambda m: (m.shape, 0.5),
    lambda m: (3,),
    lambda m: (),
    # Flat ones come last: of a large tensor there would be too many pieces.
    lambda m: (m.grad().reshape(-1),),
    lambda m: (m.grad().reshape(-1), m.grad().reshape(-1)),
    lambda m: (m.grad().reshape(m.side, -1), m.grad().reshape(m.side, -1).t()),
]
FLAT = len(GENERAL) - 3  # from here on

OWN: dict[str, Arguments] = {
    "bmm": lambda m: (m.grad(m.side, 3, 4), m.grad(m.side, 4, 2)),
    "einsum": lambda m: ("bij,bjk->ik", m.grad(m.side, 3, 4), m.grad(m.side, 4, 2)),
    "normal": lambda m: (0.0, 1.0, (m.side, 3)),
    "view_as_complex": lambda m: (m.grad(m.side, 2),),
    "view_as_real": lambda m: (m.grad().to(mtd.complex64),),
    "item": lambda m: (m.grad(1),),
    "narrow": lambda m: (m.grad(m.side, 4), 1, 1, 2),
    "unflatten": lambda m: (m.grad(m.side, 6), 1, (2, 3)),
    "batch_norm": lambda m: (m.grad(m.side, 3, 2), m.of(3), m.of(3), m.grad(3), m.grad(3), True),
    "conv2d": lambda m: (m.grad(m.side, 2, 5, 4), m.grad(3, 2, 3, 2), m.grad(3), 2, 1),
    "conv_transpose2d": lambda m: (m.grad(m.side, 2, 5, 4), m.grad(2, 3, 3, 2), m.grad(3), 2),
    "nll_loss": lambda m: (m.grad(m.side, 3), m.index(m.side)),
    "pixel_shuffle": lambda m: (m.grad(m.side, 4, 3, 2), 2),
    "can_cast": lambda m: (m.form.kind, mtd.int64),
    "frombuffer": lambda m: (bytearray(12), mtd.float32),
    "linspace": lambda m: (0, 1, 5),
    "new_full": lambda m: (m.grad(), (2, 3), 0.5),
    "promote_types": lambda m: (m.form.kind, mtd.int64),
    "randint": lambda m: (0, 3, m.shape),
    "to": lambda m: (m.grad(), mtd.float64),
}


def lists_of(name: str) -> list[Arguments]:
    """The general lists, and the own one of this operation, or of that which it does in place."""
    own = [OWN[n] for n in (name, name.removesuffix("_")) if n in OWN][:1]
    return [*GENERAL, *own, *[OWN[n] for n in [f"{name} of linalg"] if n in OWN]]
