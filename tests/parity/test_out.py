"""`out=`: the functions that torch gives it take it here, with torch's types, shapes, warnings and errors."""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitorch_dist.tensors.extras.outputs import KINDS
from tests.parity.compare import mtd, to_numpy, torch
from tests.parity.test_names_of_arguments import forms

pytestmark = pytest.mark.parity

ROOMS = ("linalg", "fft", "special")
CALLS = {
    "x": """
abs absolute acos acosh all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan arctanh argmax argmin
asin asinh atan atanh ceil conj_physical cos cosh deg2rad diag diagonal_copy diff digamma erf erfc erfinv exp exp2 expm1
fix floor frac hardshrink histc inverse isneginf isposinf lgamma log log10 log1p log2 logical_not logit
max mean min mode msort nan_to_num nanmean nansum neg negative nonzero norm rad2deg reciprocal round rsqrt sgn
sigmoid sign signbit sin sinc sinh slogdet sort sqrt square std tan tanh tril triu trunc var linalg.cond linalg.det
linalg.inv linalg.matrix_norm linalg.matrix_rank linalg.norm linalg.pinv linalg.slogdet linalg.svdvals
linalg.vector_norm fft.fft fft.fft2 fft.fftn fft.ifft fft.ifft2 fft.ifftn fft.irfft fft.irfft2 fft.irfftn fft.rfft
fft.rfft2 fft.rfftn fft.hfft fft.hfft2 fft.hfftn fft.ihfft fft.ihfft2 fft.ihfftn frexp i0 special.i0 special.i0e special.i1
special.i1e linalg.eig linalg.eigvals linalg.inv_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex special.digamma special.entr special.erf special.erfc special.erfcx special.erfinv special.exp2
special.expm1 special.log1p special.log_ndtr special.logit special.ndtr special.ndtri special.round special.sinc
""",
    "x, y": """
add arctan2 atan2 chain_matmul cholesky_solve clamp clamp_max clamp_min clip complex copysign cross div divide eq float_power
floor_divide fmax fmin fmod ge greater greater_equal gt heaviside hypot inner isin kron ldexp le less less_equal logaddexp
logaddexp2 logical_and logical_or logical_xor lt matmul max maximum min minimum mm mul multiply ne nextafter not_equal
polar pow remainder searchsorted slice_scatter spmm sub subtract tensordot triangular_solve true_divide xlogy
linalg.cross linalg.lstsq linalg.matmul linalg.solve linalg.solve_ex linalg.vecdot special.xlog1py special.xlogy
""",
    "x, 0": """
all any amax argmax cummax cummin cumprod cumsum log_softmax logcumsumexp logsumexp matrix_power max mean median
min nanmedian nanquantile prod quantile softmax sum linalg.matrix_power special.logsumexp
""",
    "x, 3": "histogram",
    "[x, y]": "cat column_stack concat concatenate dstack hstack row_stack stack vstack linalg.multi_dot",
    "i, j": "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm take take_along_dim add",
    "3": "arange empty eye ones rand randn randperm zeros fft.fftfreq fft.rfftfreq",
    "spd": "cholesky cholesky_inverse linalg.cholesky linalg.cholesky_ex linalg.eigvalsh",
    "t.tensor([[2.0, 1.0], [1.0, 3.0]])": "linalg.eigh linalg.qr qr linalg.svd svd",
    "t.eye(3)[0]": "bernoulli",
    "v, v": "bucketize dot ger outer vdot",
    "x, y, x": "addcdiv addcmul addmm lerp",
    "x, b3, b3": "addbmm",
    "b3, b3, b3": "baddbmm",
    "v, x, v": "addmv",
    "x, v, v": "addr",
    "i": "bitwise_not",
    "i, 0": "sum prod",
    "b3, b3": "bmm",
    "(2, 3), 1.5": "full",
    "x, 0, i": "gather",
    "x, 0, two, x[:2]": "index_add index_copy",
    "x, 0, two, x[:2], 'mean'": "index_reduce",
    "x, 0, two": "index_select",
    "x, 1": "kthvalue multinomial topk",
    "0.0, 1.0, 4": "linspace logspace",
    "i > 0, i > 1": "masked_select",
    "x, v": "mv",
    "x, y * 0": "normal",
    "x, -1, 0, 1": "narrow_copy",
    "5, (2, 3)": "randint",
    "0, 5": "range",
    "x, 0, i, y": "scatter scatter_add",
    "x, 0, i, y, 'sum'": "scatter_reduce",
    "x, 0.0, 1.0": "threshold",
    "i > 0, x, y": "where",
    "x, y, upper=True": "linalg.solve_triangular",
    "x, stable=True": "argsort",
    "x + 1, 2": "mvlgamma special.multigammaln",
    "x, 2, 0, 1.0": "renorm",
    "*t.linalg.lu_factor(x)": "lu_unpack",
    "*t.linalg.lu_factor(x), y": "linalg.lu_solve",
    "y, *t.linalg.lu_factor(x)": "lu_solve",
    "x, 1 * v": "linalg.tensorsolve",
    "x, ind=1": "linalg.tensorinv",
}  # fmt: skip
LINES = [f"{name}({args})" for args, names in CALLS.items() for name in names.split()]
ANY_VALUES = re.compile(r"empty|rand|normal|multinomial|svd|qr|eig")
TYPES = ["bool", "int64", "float64", "complex64"]

# torch goes its own way for single functions, without a rule
TYPES_OF_ONE = {
    "all", "any",  # refuses floats, and takes uint8
    "chain_matmul",  # takes any type
    "fft.irfft", "fft.irfft2", "fft.irfftn", "fft.hfft", "fft.hfft2", "fft.hfftn",  # refuses complex numbers
    "nansum", "nanmean",  # refuses whole and complex numbers, and with dtype= takes them
    "rand", "randint", "randn", "randperm", "normal", "bernoulli", "multinomial", "range",
    "linspace", "logspace", "arange",  # of bool and of complex numbers
    "cumprod", "cumsum",  # refuses bool
    "linalg.lstsq",  # takes wider types
    "fft.fftfreq", "fft.rfftfreq",  # refuses whole numbers
}  # fmt: skip
# torch hands on to functions that ask nothing: `out` gets values and no gradient
NO_WORD_OF_GRADIENTS = {
    "chain_matmul", "conj_physical", "diag", "argsort", "diagonal_copy", "floor_divide", "heaviside", "histc", "histogram", "inner", "log_softmax",
    "matrix_power", "nanquantile", "quantile", "slice_scatter", "softmax", "tensordot", "linalg.cond", "linalg.norm",
    "linalg.matrix_norm", "linalg.matrix_power", "fft.ifft", "fft.ihfft", "fft.ihfft2", "fft.ihfftn", "linalg.eigvals", "linalg.tensorinv", "linalg.tensorsolve", "special.ndtr",
}  # fmt: skip


def inputs(t: Any) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    arrays = {
        "x": rng.uniform(0.5, 1.5, (3, 3)),
        "y": rng.uniform(0.5, 1.5, (3, 3)),
        "v": np.sort(rng.uniform(0.5, 1.5, 3)),
        "b3": rng.uniform(0.5, 1.5, (3, 3, 3)),
    }
    made = {name: t.from_numpy(each.astype(np.float32)) for name, each in arrays.items()}
    made["spd"] = made["x"] @ made["x"].t() + t.eye(3)
    made["i"] = t.tensor([[1, 2, 0], [0, 1, 2], [2, 0, 1]])
    made["j"] = t.tensor([[1, 1, 1], [2, 2, 2], [3, 1, 2]])
    made["two"] = t.tensor([0, 2])
    return made


def called(t: Any, line: str, given: dict[str, Any], out: Any = None) -> Any:
    name, _, args = line[:-1].partition("(")
    function = t
    for part in name.split("."):
        function = getattr(function, part)
    given = {**given, "t": t, "f": function, "out": out}
    return eval(f"f({args})" if out is None else f"f({args}, out=out)", given)


def several(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


@functools.cache
def without_out(t: Any, line: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return called(t, line, inputs(t))


def attempt(t: Any, line: str, change: Callable[[Any, Any], Any], given: Any = None) -> Any:
    """The traces that a call with `out=` leaves: values and strides, warnings, or the error's type."""
    given = inputs(t) if given is None else given
    plain = without_out(t, line)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        outs = [change(t, each) for each in several(plain)]
        out = tuple(outs) if isinstance(plain, tuple) else outs[0]
        try:
            found = called(t, line, given, out)
        except (RuntimeError, TypeError, ValueError) as error:
            return error
    if isinstance(plain, tuple):
        assert all(a is b for a, b in zip(found, outs, strict=True))
        assert found._fields == plain._fields if hasattr(plain, "_fields") else True
    else:
        assert found is out
    texts = [str(w.message) for w in told if not re.search(r"deprecated and will|upper bound", str(w.message))]  # fmt: skip
    texts = [text.partition("\n")[0].partition(" (Triggered")[0] for text in texts]
    texts = [text for text in texts if text.startswith(("An output", "The number"))]
    shown = [(str(each.dtype), tuple(each.shape), tuple(each.stride())) for each in outs]
    return shown, sorted({*texts}), [to_numpy(each) for each in outs]


def differences(
    lines: list[str], change: Callable[[Any, Any], Any], strides: bool = True
) -> list[str]:
    found = []
    for line in lines:
        try:
            same(line, change, strides)
        except AssertionError as error:
            found.append(f"{line}: {error}")
    return found


def same(line: str, change: Callable[[Any, Any], Any], strides: bool = True) -> None:
    theirs, ours = attempt(torch, line, change), attempt(mtd, line, change)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(theirs, Exception), f"torch takes this, here {ours!r}"
        assert isinstance(ours, Exception), f"torch refuses this with {theirs!r}"
        kinds = (type(theirs), type(ours))
        assert issubclass(*kinds) or issubclass(*kinds[::-1]), (theirs, ours)
        return
    if not strides:
        theirs, ours = (([each[:2] for each in it[0]], *it[1:]) for it in (theirs, ours))
    assert ours[:2] == theirs[:2]
    if not ANY_VALUES.match(line.rpartition(".")[2]):
        for a, b in zip(theirs[2], ours[2], strict=True):
            rtol = 3e-3 if a.dtype == np.float16 else 2e-4
            np.testing.assert_allclose(b, a, rtol=rtol, atol=1e-5)


def empty_like(t: Any, each: Any) -> Any:
    return t.empty(0, dtype=each.dtype)


def test_the_functions_are_those_of_torch() -> None:
    stubs = forms("_VariableFunctions.pyi").items()
    theirs = {name for name, overloads in stubs if any("out" in each.by_name for each in overloads)}
    theirs |= {"chain_matmul", "norm", "spmm", "tensordot", "linalg.lstsq"}  # of Python, or without a word in the stubs  # fmt: skip
    here = {name for name in theirs if callable(getattr(mtd, name, None)) or "." in name}
    for room in ROOMS:
        for name, function in vars(getattr(torch, room)).items():
            if "out=None" in (function.__doc__ or "") and hasattr(getattr(mtd, room), name):
                here.add(f"{room}.{name}")
    assert {name for name in here if not name.endswith("_")} == set(KINDS)
    assert {line.partition("(")[0] for line in LINES} == set(KINDS)


def test_an_empty_out_takes_the_shape_of_the_result() -> None:
    assert differences(LINES, empty_like, strides=False) == []  # some of torch's lie by columns


def test_an_out_with_gaps_keeps_its_strides() -> None:
    def with_gaps(t: Any, each: Any) -> Any:
        return t.zeros([2 * n for n in each.shape] + [2], dtype=each.dtype)[
            (*[slice(None, None, 2)] * each.ndim, 0)
        ]

    odd = ("linalg.lstsq", "narrow_copy")  # torch shapes one of four anew; copies a part
    lines = [line for line in LINES if not line.startswith(odd)]
    assert differences(lines, with_gaps) == []


def test_an_out_of_another_shape_is_resized_and_told() -> None:
    # no word; or of another shape, from within
    told = [
        line for line in LINES if not line.startswith(("addbmm", "bernoulli", "mode", "kthvalue"))
    ]
    assert differences(told, lambda t, each: t.zeros(7, dtype=each.dtype), strides=False) == []


@pytest.mark.parametrize("kind", TYPES)
def test_types_of_out(kind: str) -> None:
    lines = [line for line in LINES if line.partition("(")[0] not in TYPES_OF_ONE]
    assert differences(lines, lambda t, each: t.empty(0, dtype=getattr(t, kind)), False) == []


def test_the_words_for_types_that_do_not_fit() -> None:
    for line in ("add(x, y)", "mm(x, y)", "cat([x, y])", "exp(x)", "zeros(3, dtype=t.float64)"):
        errors = [attempt(t, line, lambda t, each: t.empty(0, dtype=t.int64)) for t in (torch, mtd)]
        words = [re.sub(r"long int|Long", "long", str(error)).lower() for error in errors]
        assert words[0] == words[1]


def test_gradients_are_refused_unless_they_are_off() -> None:
    for line in LINES:
        name = line.partition("(")[0]
        for of_out in (True, False):

            def needing(t: Any, each: Any, of_out: bool = of_out) -> Any:
                out = t.zeros(tuple(each.shape), dtype=each.dtype)
                return out.requires_grad_() if of_out and out.dtype.is_floating_point else out

            results: list[Any] = []
            for t in (torch, mtd):
                given = inputs(t)
                if not of_out:
                    given = {
                        key: each.requires_grad_() if each.dtype.is_floating_point else each
                        for key, each in given.items()
                    }
                results.append(attempt(t, line, needing, given))
            theirs, ours = results
            with mtd.no_grad():
                assert not isinstance(attempt(mtd, line, needing, given), Exception), line
            if name not in NO_WORD_OF_GRADIENTS and name != "histc":
                assert type(theirs) is type(ours), (line, of_out, theirs, ours)
    assert "add(): functions with out=... arguments don't support automatic" in str(
        attempt(mtd, "add(x, y)", lambda t, each: t.zeros(3, 3, requires_grad=True))
    )


def test_an_input_as_out() -> None:
    for t in (torch, mtd):
        x = t.arange(9.0).reshape(3, 3)
        assert t.add(x, x, out=x) is x and x.tolist()[1] == [6.0, 8.0, 10.0] and x._version == 1
        memory = t.arange(7.0)
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written"):
            t.mul(memory[:6], 2, out=memory[1:])
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            t.add(x, 1, out=t.zeros(1).expand(3, 3))
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written"):
            t.take(memory, t.arange(7), out=memory)
        t.mul(memory[::2], 2, out=memory[::2])
        assert memory.tolist() == [0.0, 1.0, 4.0, 3.0, 8.0, 5.0, 12.0]
    x = mtd.arange(9.0).reshape(3, 3)
    assert mtd.sum(x, 0, out=x[0]).tolist() == [9, 12, 15]  # torch makes it 0 first: [9, 11, 13]
    assert mtd.mm(x, mtd.eye(3), out=x).tolist()[0] == [9, 12, 15]  # torch's is wrong, too


def test_what_is_no_out() -> None:
    for t in (torch, mtd):
        x = t.ones(2, 2)
        for call in (
            lambda t=t, x=x: t.sort(x, out=t.empty(0)),
            lambda t=t, x=x: t.sort(x, out=(t.empty(0),)),
            lambda t=t, x=x: t.add(x, x, out=(t.empty(0), t.empty(0))),
        ):
            with pytest.raises(TypeError):
                call()
        assert t.add(x, x, out=None).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_other_numbers_of_elements() -> None:
    """No elements, one, and 0 dimensions; the result goes into `out`, and into what it is a view of."""
    for shape in ([], [0], [1], [5], [2, 0, 3]):
        for t in (torch, mtd):
            x = t.ones(shape)
            whole = t.zeros([*shape, 3])
            out = whole[..., 1]
            assert t.add(x, 1, out=out) is out
            assert whole.sum().item() == 2 * math.prod(shape)
            assert t.add(t.sum(x), 0, out=t.empty(())).item() == math.prod(shape)
