"""Every function and method takes its arguments in torch's order and by torch's names, as torch's stubs have them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity

STUBS = Path(torch.__file__).parent / "_C"
# Where memory goes and how it is laid out is not chosen here; see docs/same_and_different.md
NOT_OFFERED = {
    "out",
    "memory_format",
    "layout",
    "pin_memory",
    "names",
    "out_dtype",
    "inplace_views",
    # options that left with the small house
    "size_average",
    "reduce",
    "ceil_mode",
    "max_norm",
    "norm_type",
    "scale_grad_by_freq",
    "sparse",
    "prepend",
    "append",
}
# In the stubs and not in torch: `tensor(data, dtype)` by position, `requires_grad_(mode=)`
NOT_SO = {"tensor", "new_tensor", "requires_grad_"}
LEFT_OUT = {
    "layer_norm", "group_norm",  # `cudnn_enable`, which torch itself does not read
    "result_type", "repeat_interleave",  # by the names of overloads for plain numbers
    "tensor_split", "dropout",  # by the one or the other name
    "elu",    # of torch._C._nn, beneath the function
    "expand",  # `implicit` is the tracer's
    "rsub",  # alpha by position, deprecated
    "round", "div", "div_", "normal",  # `decimals`, `rounding_mode`, tensors as a mean
    "avg_pool2d",  # `count_include_pad`, `divisor_override`
    "searchsorted",  # a number by the name `self`
    "huber_loss", "l1_loss", "mse_loss",  # `weight`
    "nll_loss", "cross_entropy", "instance_norm", "embedding_bag",  # by name only, behind options that are not here
}  # fmt: skip


class Form(NamedTuple):
    """One way to call a function."""

    positional: list[str]
    nameless: int  # of these, how many have no name
    by_name: list[str]
    required: list[str]  # of these
    any_number: bool


def forms(file: str, kind: str | None = None) -> dict[str, list[Form]]:
    """By name, the overloads in a stub; or of the methods of a class in it."""
    body = ast.parse((STUBS / file).read_text(encoding="utf-8")).body
    if kind is not None:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == kind)
    found: dict[str, list[Form]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            a = node.args
            positional = [x.arg for x in a.posonlyargs + a.args]
            by_name = [x.arg for x in a.kwonlyargs]
            pairs = zip(by_name, a.kw_defaults, strict=True)
            required = [name for name, default in pairs if default is None]
            form = Form(positional, len(a.posonlyargs), by_name, required, a.vararg is not None)
            found.setdefault(node.name, []).append(form)
    return found


def of_function(function: Any) -> Form:
    parameters = inspect.signature(function).parameters.values()
    return Form(
        [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD],
        0,
        [p.name for p in parameters if p.kind is p.KEYWORD_ONLY],
        [],
        any(p.kind is p.VAR_POSITIONAL for p in parameters),
    )


def refused(function: Any, form: Form, is_method: bool) -> Iterator[str]:
    """The calls of this form that the function here cannot take."""
    signature = inspect.signature(function)
    own = ["self"] if is_method else []
    positional = [name for name in form.positional if name not in own and name not in NOT_OFFERED]
    by_name = [name for name in form.by_name if name not in NOT_OFFERED]
    calls = {
        "by position": (positional, [name for name in by_name if name in form.required]),
        "by name": (positional[: form.nameless], [*positional[form.nameless :], *by_name]),
    }
    if form.any_number:
        calls["any number"] = ([*positional, "1", "2", "3"], [])
    for how, (values, names) in calls.items():
        if form.any_number and not values:
            continue  # a call without arguments says nothing
        try:
            signature.bind(*own, *values, **dict.fromkeys(names, 0))
        except TypeError as error:
            yield f"{how} ({', '.join(values)}; {', '.join(names)}): {error}"


ROOMS: dict[str, Any] = {
    "the package": (lambda: forms("_VariableFunctions.pyi"), lambda: mtd, False),
    "Tensor": (lambda: forms("__init__.pyi", "TensorBase"), lambda: mtd.Tensor, True),
    "beneath nn": (lambda: forms("_nn.pyi"), lambda: mtd.nn.functional, False),
}


@pytest.mark.parametrize("room", ROOMS)
def test_what_torch_has_in_stubs(room: str) -> None:
    read, ours, is_method = ROOMS[room]
    wrong, count = [], 0
    for name, overloads in read().items():
        function = getattr(ours(), name, None)
        if not callable(function) or inspect.isclass(function) or name in NOT_SO | LEFT_OUT:
            continue
        for form in overloads:
            if "out" in form.required or (not is_method and "self" in form.positional):
                continue  # deprecated orders, and plain numbers in the place of tensors
            count += 1
            wrong += [f"{name} {call}" for call in refused(function, form, is_method)]
    assert not wrong, "\n".join(wrong)
    assert count > {"the package": 200, "Tensor": 200, "beneath nn": 10}[room]


PYTHON: dict[str, Any] = {
    "nn.functional": (lambda: torch.nn.functional, lambda: mtd.nn.functional, False),
    "the package": (lambda: torch.functional, lambda: mtd, False),
    "Tensor": (lambda: torch.Tensor, lambda: mtd.Tensor, True),
    "nn.init": (lambda: torch.nn.init, lambda: mtd.nn.init, False),
}


@pytest.mark.parametrize("room", PYTHON)
def test_what_torch_has_in_python(room: str) -> None:
    theirs, ours, is_method = PYTHON[room]
    wrong, count = [], 0
    for name, function in vars(theirs()).items():
        own = getattr(ours(), name, None)
        if name.startswith("_") or name in LEFT_OUT or not inspect.isfunction(function):
            continue
        if not callable(own) or inspect.isclass(own):
            continue
        form = of_function(function)
        if not form.positional and not form.by_name:
            continue  # (*args, **kwargs) say nothing
        count += 1
        wrong += [f"{name} {call}" for call in refused(own, form, is_method)]
    assert not wrong, "\n".join(wrong)
    assert count > 0


def test_the_other_names_mean_the_same() -> None:
    x = mtd.arange(24.0).reshape(2, 3, 4)
    square = mtd.eye(3) * 2
    assert x.new_zeros(size=(2, 1)).shape == (2, 1) and mtd.ones(1, 1, 3).squeeze(0, 1).shape == (3,)
    assert x.count_nonzero(0, 1).tolist() == [5, 6, 6, 6]
    assert mtd.mm(input=square, mat2=square).tolist() == (square * 2).tolist()
    assert mtd.promote_types(type1=mtd.int8, type2=mtd.float32) is mtd.float32
    with pytest.raises(TypeError):
        mtd.split(x, 1, size=2)
