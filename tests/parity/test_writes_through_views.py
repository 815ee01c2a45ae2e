"""Writing in place through chains of views, with gradients: against torch.

A random program makes views of views of a tensor, writes through them, reads them again, and the
gradients of everything have to agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.parity.compare import same, torch

pytestmark = pytest.mark.parity

PROGRAMS = """
a[0].mul_(2)
a.view(-1)[3:5].add_(w[0])
b = a[1]; b[2] = w[1, 0]; b.mul_(a[0])
b = a.t(); b[0].mul_(w[:, 0]); a.mul_(b.t())
b = a[:, 1:]; c = b[0]; c.add_(1); b.mul_(c); a[0, 0] = c.sum()
b, c = a[0], a[0]; b.mul_(3); d = c * 2; c.add_(d)
a[:, 0] = a[:, 1] * a[:, 2]
a[1:] = a[:1] * w[0]; a.t()[1].copy_(w[:, 2])
a[a.detach() > 3] = w[0, 0]; a[0][w.detach()[0] > 0] = 5
a[[1, 0, 1]] = w[[0, 1, 0]] * 2; a.index_add_(0, t.tensor([0, 0]), w)
b = a.expand(2, 2, 3); a.mul_(3); a[0] = b[1, 1]
b = a.detach(); b.add_(1); a[0] = b[1]
a[0].copy_(a[1]); a[1].copy_(a[0])
a.masked_fill_(w.detach() > 0, 1); a[0].masked_fill_(w.detach()[1] > 0, w[0, 0])
a.view(3, 2)[1] = w.view(-1)[:2]; a[0].zero_()
b = a[0:1]; b[...] = w[:1]; b[:, None] = 2
a.scatter_(1, t.tensor([[0, 2]]), w[:1, :2]); a[1].scatter_add_(0, t.tensor([0, 0, 1]), w[0])
b, c = a.split(1); a.mul_(2)
b, c = a.split(1); b.mul_(2)
b, c = a.unbind(); b.add_(1)
b = a.chunk(2, 1)[0]; b.mul_(2)
b = a.tensor_split(2)[0]; b.mul_(w[:1])
b = w.detach()[0]; b.add_(a[0]); a[1] = b
e = t.zeros(2, 3); e[0] = a[0]; e[1].add_(w[1]); a = e * 2
e = t.zeros(2, 3); f = e[0]; f.copy_(w[0]); e.mul_(a); a = f + e
e = t.zeros(2, 3, dtype=t.int64); e[0] = a[0]; a = a + e
x[0] = 1
x.view(-1)[0] = 1
x[0].add_(1)
"""


@pytest.mark.parametrize("program", [p for p in PROGRAMS.strip().splitlines() if p])
def test_programs(program: str) -> None:
    def run(t: Any, x: Any, w: Any) -> Any:
        names = {"t": t, "x": x, "w": w, "a": x * 1}
        exec(program, names)
        found = [v for k, v in sorted(names.items()) if k in "abcdef" and isinstance(v, t.Tensor)]
        tracked = [v.requires_grad for v in found]
        return [v * 1 for v in found if v.is_floating_point()], tracked

    same(run, np.arange(6.0).reshape(2, 3), np.array([[1.0, -2.0, 0.5], [-1.0, 3.0, 2.0]]))


@st.composite
def scripts(draw: Any) -> list[tuple[Any, ...]]:
    """Steps that refer to earlier tensors by number; what does not fit torch refuses, and so do we."""
    steps = []
    for number in range(draw(st.integers(1, 6))):
        source = draw(st.integers(0, number))
        kind = draw(st.sampled_from(["view", "view", "write", "write", "read"]))
        if kind == "view":
            what = draw(st.sampled_from(["[0]", "[-1:]", "[..., 0]", "[..., 1:]", ".t()", ".view(-1)", ".unsqueeze(0)", "[None]", ".transpose(0, -1)", "[:, ::2]", ".reshape(-1)[1:]", ".squeeze()", "[...]", ".view_as(v)".replace("v)", "%s)")]))  # fmt: skip
            steps.append(("view", source, what))
        elif kind == "write":
            what = draw(st.sampled_from([".mul_(2)", ".add_(w)", "[0] = w", ".mul_(%s)", ".copy_(%s * 1)", "[..., 0] = 3.0", "[%s.detach() > 0] = w", ".add_(%s * %s)"]))  # fmt: skip
            steps.append(("write", source, what))
        else:
            steps.append(("read", source, draw(st.sampled_from([" * 2", ".sum() * w", ".relu()"]))))
    return steps


@pytest.mark.slow
@given(scripts())
@settings(max_examples=300)
def test_random_scripts(steps: list[tuple[Any, ...]]) -> None:
    def run(t: Any, x: Any, w: Any) -> Any:
        made = [x * 1]
        for kind, source, what in steps:
            names: dict[str, Any] = {"t": t, "w": w, "v": made[source]}
            if "%s" in what:
                names["o"] = made[-1]
                what = what.replace("%s", "o")
            if kind == "write":
                exec("v" + what, names)
            else:
                made.append(eval("v" + what, names))
        shapes = [tuple(m.shape) for m in made]
        return [m * 1 for m in made], shapes, [m._version for m in made]

    x, w = np.arange(1.0, 7.0).reshape(2, 3), np.array(1.5)
    try:
        run(torch, torch.from_numpy(x), torch.from_numpy(w))
    except Exception as error:
        assume("single memory location" not in str(error))  # overlaps: here they are well defined
    same(run, x, w)
