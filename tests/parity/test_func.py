"""torch.func's transformations: gradients, derivatives, a function for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch
from tests.parity.modules import kind_of_error

pytestmark = pytest.mark.parity


def cubes(t: Any) -> Any:
    return lambda x: (x**3).sum()


def of_two(x: Any, y: Any) -> Any:
    return (x * y.sin()).sum() + (x["a"] if isinstance(x, dict) else x).sum()


PROGRAMS: dict[str, Any] = {
    "grad": lambda t, x: t.func.grad(cubes(t))(x.detach()),
    "grad of grad": lambda t, x: t.func.grad(lambda y: t.func.grad(cubes(t))(y).sum())(x.detach()),
    "grad of a tensor that is trained": lambda t, x: t.func.grad(cubes(t))(x),
    "second argument": lambda t, x: t.func.grad(of_two, argnums=1)(x.detach(), x.detach() * 2),
    "both arguments": lambda t, x: t.func.grad(of_two, (0, 1))(x.detach(), x.detach() * 2),
    "of an argument that is not used": lambda t, x: t.func.grad(lambda a, b: a.sum(), (0, 1))(
        x.detach(), x.detach()
    ),
    "a dictionary": lambda t, x: t.func.grad(lambda p: (p["w"] ** 2).sum() + p["b"].sum())(
        {"w": x.detach(), "b": x.detach()[0]}
    )["w"],
    "with aux": lambda t, x: t.func.grad(lambda y: ((y**2).sum(), y * 2), has_aux=True)(x.detach()),
    "grad_and_value": lambda t, x: t.func.grad_and_value(cubes(t))(x.detach()),
    "jacrev": lambda t, x: t.func.jacrev(lambda y: y**2)(x.detach()),
    "jacfwd": lambda t, x: t.func.jacfwd(lambda y: y**2)(x.detach()),
    "hessian": lambda t, x: t.func.hessian(cubes(t))(x.detach()),
    "vjp": lambda t, x: t.func.vjp(lambda y: y**2, x.detach())[1](x.detach() + 1)[0],
    "jvp": lambda t, x: t.func.jvp(lambda y: y**2, (x.detach(),), (x.detach() + 1,)),
    "vmap": lambda t, x: t.func.vmap(lambda row: row * row.sum())(x),
    "vmap along 1": lambda t, x: t.vmap(lambda col: col**2, in_dims=1, out_dims=1)(x),
    "vmap of two": lambda t, x: t.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, x[0]),
    "vmap to two": lambda t, x: t.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x),
    "a gradient for each sample": lambda t, x: t.func.vmap(
        t.func.grad(lambda w, row: (w * row).sum() ** 2), in_dims=(None, 0)
    )(x.detach()[0], x.detach()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transformations(name: str) -> None:
    needs = name.startswith("vmap") or name == "grad of a tensor that is trained"
    same(PROGRAMS[name], np.cos(np.arange(6.0)).reshape(2, 3), grad=needs)


def test_gradients_of_a_module_for_each_sample() -> None:
    def program(t: Any, x: Any, w: Any) -> Any:
        net = t.nn.Linear(3, 1, bias=False).double()

        def loss(params: Any, row: Any) -> Any:
            return t.func.functional_call(net, params, (row.unsqueeze(0),)).pow(2).sum()

        return t.func.vmap(t.func.grad(loss), in_dims=(None, 0))({"weight": w}, x)["weight"]

    same(program, np.ones((4, 3)), np.array([[1.0, 2.0, 3.0]]), grad=False)


def test_refusals() -> None:
    for wrong in (
        lambda t: t.func.grad(lambda x: x)(t.ones(2)),
        lambda t: t.vmap(lambda a, b: a)(t.ones(2), t.ones(3)),
    ):
        theirs, ours = (kind_of_error(lambda t=t, w=wrong: w(t)) for t in (torch, mtd))
        assert theirs == ours
