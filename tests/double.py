"""Expressions that are differentiated twice, by name: a function of a namespace and tensors, and the tensors' shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

S = (3, 4)
Expression = tuple[Callable[..., Any], tuple[int, ...]]


def functional(t: Any) -> Any:
    return t.nn.functional


def classes(t: Any) -> Any:
    return t.tensor([0, 3, 1])


def written(t: Any, x: Any) -> Any:
    y = x * x
    y[0] = y[1] * 2
    y[:, 1].mul_(3)
    return y * x


def stale(t: Any, x: Any) -> Any:
    """A view whose base was written to since, read by an operation that meets it second."""
    y = x * x
    row = y[0]
    y.mul_(2)
    return x[1] * row * row


def recurrent(t: Any, x: Any) -> Any:
    h = x[0]
    for row in x:
        h = (h * row + h).tanh()
    return h


def perceptron(t: Any, x: Any, *weights: Any) -> Any:
    first, bias, second = weights
    hidden = functional(t).linear(x, first, bias).tanh()
    return functional(t).cross_entropy(functional(t).linear(hidden, second), t.tensor([0, 1, 1]))


ELEMENTWISE: dict[str, Any] = {
    "add": (lambda t, x, y: (x + y) * x, S, (4,)),
    "sub": (lambda t, x, y: (x - y) * y, S, ()),
    "rsub": (lambda t, x: (1 - x) * x, S),
    "mul": (lambda t, x, y: x * y, S, (3, 1)),
    "number": (lambda t, x: x * 3 * x + 2, S),
    "div": (lambda t, x, y: x / (y + 3), S, (4,)),
    "rdiv": (lambda t, x: 1 / (x + 3), S),
    "neg": (lambda t, x: -x * x, S),
    "power 0": (lambda t, x: x**0 * x * x, S),
    "power 2": (lambda t, x: x**2, S),
    "power 3": (lambda t, x: x**3, S),
    "power 0.5": (lambda t, x: (x + 3) ** 0.5, S),
    "power -1": (lambda t, x: (x + 3) ** -1, S),
    "powers": (lambda t, x, y: (x + 3) ** y, S, S),
    "sqrt": (lambda t, x: (x + 3).sqrt(), S),
    "rsqrt": (lambda t, x: (x + 3).rsqrt(), S),
    "reciprocal": (lambda t, x: (x + 3).reciprocal(), S),
    "exp": (lambda t, x: x.exp(), S),
    "exp of a number": (lambda t, x: x.exp(), ()),
    "expm1": (lambda t, x: x.expm1(), S),
    "log": (lambda t, x: (x + 3).log(), S),
    "log1p": (lambda t, x: (x + 3).log1p(), S),
    "log2": (lambda t, x: (x + 3).log2(), S),
    "sin": (lambda t, x: x.sin(), S),
    "cos": (lambda t, x: x.cos(), S),
    "atan": (lambda t, x: x.atan(), S),
    "atan2": (lambda t, x, y: t.atan2(x + 3, y), S, S),
    "sinh": (lambda t, x: x.sinh(), S),
    "tanh": (lambda t, x: x.tanh(), S),
    "tanh of a number": (lambda t, x: x.tanh(), ()),
    "sigmoid": (lambda t, x: x.sigmoid(), S),
    "erf": (lambda t, x: x.erf(), S),
    "abs": (lambda t, x: x.abs() * x, S),
    "clamp": (lambda t, x: x.clamp(0, 1) * x, S),
    "maximum": (lambda t, x, y: t.maximum(x, y) * x, S, S),
    "minimum": (lambda t, x, y: t.minimum(x, y) * x, S, S),
    "where": (lambda t, x, y: t.where(x > 0, x * y, y * y), S, S),
    "lerp": (lambda t, x, y: t.lerp(x * x, y, x), S, S),
    "addcmul": (lambda t, x, y: t.addcmul(x, x, y, value=2), S, S),
    "of another type": (lambda t, x: (x.float() ** 2).double(), S),
    "detach": (lambda t, x: x.detach() * x * x, S),
    "clone": (lambda t, x: x.clone() * x, S),
}
LAYERS: dict[str, Any] = {
    "relu": (lambda t, x: functional(t).relu(x) * x, S),
    "leaky relu": (lambda t, x: functional(t).leaky_relu(x, 0.1) * x, S),
    "relu6": (lambda t, x: functional(t).relu6(x) * x, S),
    "elu": (lambda t, x: functional(t).elu(x), S),
    "selu": (lambda t, x: functional(t).selu(x), S),
    "gelu": (lambda t, x: functional(t).gelu(x), S),
    "gelu by tanh": (lambda t, x: functional(t).gelu(x, approximate="tanh"), S),
    "silu": (lambda t, x: functional(t).silu(x), S),
    "softplus": (lambda t, x: functional(t).softplus(x), S),
    "logsigmoid": (lambda t, x: functional(t).logsigmoid(x), S),
    "softmax": (lambda t, x: x.softmax(-1), S),
    "softmax along 0": (lambda t, x: x.softmax(0), S),
    "log_softmax": (lambda t, x: x.log_softmax(-1), S),
    "logsumexp": (lambda t, x: x.logsumexp(-1), S),
    "logsumexp of all": (lambda t, x: x.logsumexp((0, 1)), S),
    "cross entropy": (lambda t, x: functional(t).cross_entropy(x, classes(t)), S),
    "cross entropies": (lambda t, x: functional(t).cross_entropy(x, classes(t), reduction="none"), S),
    "cross entropy, a row ignored": (
        lambda t, x: functional(t).cross_entropy(x, t.tensor([0, -100, 1])), S
    ),
    "cross entropy of images": (
        lambda t, x: functional(t).cross_entropy(x, t.tensor([[0, 1], [2, 1]])), (2, 3, 2)
    ),
    "cross entropy of one row": (lambda t, x: functional(t).cross_entropy(x, t.tensor(2)), (4,)),
    "weighted cross entropy": (
        lambda t, x: functional(t).cross_entropy(
            x, classes(t), weight=t.tensor([1.0, 2.0, 3.0, 4.0], dtype=t.float64)
        ), S
    ),
    "nll": (lambda t, x: functional(t).nll_loss(x.log_softmax(1), classes(t)), S),
    "mse": (lambda t, x, y: functional(t).mse_loss(x * x, y), S, S),
    "mse of numbers": (lambda t, x, y: functional(t).mse_loss(x * x, y), (), ()),
    "mse to a constant": (lambda t, x: functional(t).mse_loss(x * x, t.ones(3, 4).double()), S),
    "l1": (lambda t, x, y: functional(t).l1_loss(x * x, y), S, S),
    "binary cross entropy": (
        lambda t, x: functional(t).binary_cross_entropy_with_logits(x, t.ones(3, 4).double() * 0.3), S
    ),
    "linear": (lambda t, x, w, b: functional(t).linear(x, w, b), S, (2, 4), (2,)),
    "linear without bias": (lambda t, x, w: functional(t).linear(x, w), S, (2, 4)),
    "linear of batches": (lambda t, x, w, b: functional(t).linear(x, w, b), (2, 3, 4), (2, 4), (2,)),
    "embedding": (lambda t, w: functional(t).embedding(t.tensor([0, 2, 2]), w) ** 2, S),
    "pad": (lambda t, x: functional(t).pad(x, (1, 1)) ** 2, S),
    "all dropped": (lambda t, x: functional(t).dropout(x * x, 1.0) * x + x * x, S),
    "normalize": (lambda t, x: functional(t).normalize(x), S),
    "a perceptron": (perceptron, S, (5, 4), (5,), (2, 5)),
    "a recurrent network": (recurrent, S),
}  # fmt: skip
PRODUCTS_AND_SUMS: dict[str, Any] = {
    "matrices": (lambda t, x, y: x @ y, S, (4, 2)),
    "matrix and vector": (lambda t, x, y: x @ y, S, (4,)),
    "vector and matrix": (lambda t, x, y: x @ y, (3,), S),
    "vectors": (lambda t, x, y: x @ y, (3,), (3,)),
    "bmm": (lambda t, x, y: t.bmm(x, y), (2, 3, 4), (2, 4, 2)),
    "batches and a matrix": (lambda t, x, y: x @ y, (2, 3, 4), (4, 2)),
    "batches that broadcast": (lambda t, x, y: x @ y, (2, 1, 3, 4), (5, 4, 2)),
    "outer": (lambda t, x, y: t.outer(x, y) * x[:, None], (3,), (4,)),
    "addmm": (lambda t, b, x, y: t.addmm(b, x, y), (3, 2), S, (4, 2)),
    "with itself": (lambda t, x: x.mT @ x, S),
    "sum": (lambda t, x: x.sum() * x, S),
    "sum of columns": (lambda t, x: x.sum(0) * x, S),
    "sum that keeps": (lambda t, x: x.sum(1, keepdim=True) * x, S),
    "mean": (lambda t, x: x.mean() * x, S),
    "mean of rows": (lambda t, x: x.mean(1) ** 2, S),
    "norm": (lambda t, x: x.norm(), S),
    "norm of rows": (lambda t, x: x.norm(2, dim=1), S),
    "largest": (lambda t, x: x.amax(1) ** 2, S),
    "sorted": (lambda t, x: x.sort(1)[0] ** 2 * x, S),
}
SHAPES: dict[str, Any] = {
    "view": (lambda t, x: x.view(2, 6) * x.view(2, 6), S),
    "reshape": (lambda t, x: x.t().reshape(2, 6) ** 2, S),
    "transpose": (lambda t, x: x.transpose(0, 1) ** 2, S),
    "permute": (lambda t, x: x.permute(2, 0, 1) ** 2, (2, 3, 4)),
    "movedim": (lambda t, x: x.movedim(0, 2) ** 2, (2, 3, 4)),
    "unsqueeze": (lambda t, x: x.unsqueeze(0) ** 2, S),
    "squeeze": (lambda t, x: (x * x).unsqueeze(0).squeeze(0) * x, S),
    "expand": (lambda t, x: x.expand(3, 4) ** 2, (4,)),
    "row": (lambda t, x: x[1] ** 2, S),
    "steps": (lambda t, x: x[1, ::2] ** 2, S),
    "slice": (lambda t, x: x[:, 1:3] ** 2, S),
    "None and ...": (lambda t, x: x[None, ..., 1] ** 2, S),
    "narrow": (lambda t, x: x.narrow(1, 1, 2) ** 2, S),
    "index": (lambda t, x: x[t.tensor([0, 2, 0])] ** 2, S),
    "a longer index": (lambda t, x: x[t.arange(90) % 3] ** 2, S),
    "mask": (lambda t, x: x[t.tensor([True, False, True])] ** 2, S),
    "masked_fill": (lambda t, x: (x * x).masked_fill(t.tensor([True, False, True, False]), 0.0) * x, S),
    "masked_scatter": (
        lambda t, x, y: (x * x).masked_scatter(t.tensor([[True, False, True, False]] * 3), y) * x, S, S
    ),
    "gather": (lambda t, x: x.gather(1, t.tensor([[0], [1], [3]])) ** 2, S),
    "index_select": (lambda t, x: x.index_select(1, t.tensor([0, 0, 3])) ** 2, S),
    "cat": (lambda t, x, y: t.cat([x, y * x], 1) ** 2, S, S),
    "stack": (lambda t, x, y: t.stack([x, y * x], 1) ** 2, S, S),
    "split": (lambda t, x: x.split(2, 1)[0] * x.split(2, 1)[1], S),
    "one of its pieces": (lambda t, x: x.chunk(2, 1)[1] ** 2, S),
    "unbind": (lambda t, x: x.unbind(0)[0] * x.unbind(0)[1], S),
    "unfold": (lambda t, x: x.unfold(1, 2, 1) ** 2, S),
    "flip": (lambda t, x: x.flip(0) * x, S),
    "roll": (lambda t, x: x.roll(1, 0) * x, S),
    "repeat": (lambda t, x: x.repeat(2, 1) ** 2, S),
    "repeat_interleave": (lambda t, x: x.repeat_interleave(2, 0) ** 2, S),
    "tril": (lambda t, x: x.tril() ** 2, S),
    "contiguous": (lambda t, x: x.t().contiguous() ** 2, S),
    "in place": (lambda t, x: (x * x).add_(x).mul_(x), S),
    "parts in place": (written, S),
    "a view of what was written": (stale, S),
    "relu in place": (lambda t, x: functional(t).relu(x * x - 1, inplace=True) * x, S),
    "empty": (lambda t, x: (x * x).sum(1), (0, 3)),
}  # fmt: skip
EXPRESSIONS: dict[str, Any] = ELEMENTWISE | LAYERS | PRODUCTS_AND_SUMS | SHAPES
