"""Expressions that are differentiated twice, by name: a function of a namespace and tensors, and the tensors' shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

S = (3, 4)
Expression = tuple[Callable[..., Any], tuple[int, ...]]


def functional(t: Any) -> Any:
    return t.nn.functional


def attention(t: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return t.nn.functional.scaled_dot_product_attention(q, k, v, **options)


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


def running(t: Any, x: Any, w: Any, b: Any) -> Any:
    mean, var = t.arange(3).double() * 0.1, t.arange(3).double() + 1
    return functional(t).batch_norm(x, mean, var, w, b, False) ** 2


def layer(t: Any, kind: str, x: Any, h: Any, weights: Any) -> Any:
    """What a recurrent layer with these weights makes of sequences."""
    module = getattr(t.nn, kind)(2, 2, batch_first=True).double()
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    state = (h, h * h) if kind == "LSTM" else h
    out, last = t.func.functional_call(module, dict(zip(names, weights, strict=True)), (x, state))
    return (out**2).sum() + (last[1] if kind == "LSTM" else last).sum()


def shapes_of(gates: int) -> tuple[tuple[int, ...], ...]:
    return (1, 3, 2), (1, 1, 2), (2 * gates, 2), (2 * gates, 2), (2 * gates,), (2 * gates,)


IMAGE = (2, 3, 3, 2)
IMAGES: dict[str, Any] = {
    "conv2d": (
        lambda t, x, w, b: functional(t).conv2d(x, w, b, stride=2, padding=1),
        (1, 2, 4, 3), (2, 2, 3, 2), (2,),
    ),
    "conv2d, dilated and in groups": (
        lambda t, x, w: functional(t).conv2d(x, w, None, (1, 2), (2, 1), (2, 1), groups=2),
        (1, 2, 4, 3), (2, 1, 2, 3),
    ),
    "conv2d that leaves a rest": (
        lambda t, x, w: functional(t).conv2d(x, w, None, 2) ** 2, (1, 1, 6, 4), (1, 1, 3, 3)
    ),
    "conv2d without a batch": (lambda t, x, w: functional(t).conv2d(x, w) ** 2, (1, 4, 3), (1, 1, 3, 3)),
    "conv1d": (lambda t, x, w, b: functional(t).conv1d(x, w, b, padding=1), (2, 1, 5), (2, 1, 3), (2,)),
    "conv_transpose2d": (
        lambda t, x, w, b: functional(t).conv_transpose2d(x, w, b, 2, 1, 1),
        (1, 2, 2, 2), (2, 1, 3, 3), (1,),
    ),
    "conv_transpose1d": (
        lambda t, x, w: functional(t).conv_transpose1d(x, w, groups=2) ** 2, (1, 2, 3), (2, 1, 2)
    ),
    "max_pool2d": (lambda t, x: functional(t).max_pool2d(x, 3, 2, 1) ** 2, IMAGE),
    "max_pool1d": (lambda t, x: functional(t).max_pool1d(x, 2) ** 2, (3, 5)),
    "avg_pool2d": (lambda t, x: functional(t).avg_pool2d(x, 3, 2, 1) ** 2, IMAGE),
    "avg_pool2d of what is there": (
        lambda t, x: functional(t).avg_pool2d(x, 2, 2, 1, count_include_pad=False) ** 2, IMAGE
    ),
    "adaptive_avg_pool2d": (lambda t, x: functional(t).adaptive_avg_pool2d(x, (2, 4)) ** 2, IMAGE),
    "global average": (lambda t, x: functional(t).adaptive_avg_pool2d(x, 1) ** 2, IMAGE),
    "bilinear": (
        lambda t, x: functional(t).interpolate(x, scale_factor=2, mode="bilinear") ** 2, (1, 1, 3, 2)
    ),
    "nearest": (lambda t, x: functional(t).interpolate(x, scale_factor=2) ** 2, (1, 1, 3, 2)),
}  # fmt: skip
NORMS: dict[str, Any] = {
    "layer_norm": (lambda t, x, w, b: functional(t).layer_norm(x, (4,), w, b) ** 2, S, (4,), (4,)),
    "layer_norm of planes": (lambda t, x: functional(t).layer_norm(x, (3, 4)) ** 3, (2, 3, 4)),
    "rms_norm": (lambda t, x, w: functional(t).rms_norm(x, (4,), w) ** 2, S, (4,)),
    "batch_norm": (
        lambda t, x, w, b: functional(t).batch_norm(x, None, None, w, b, True) ** 2, IMAGE, (3,), (3,)
    ),
    "batch_norm of rows": (
        lambda t, x, w, b: functional(t).batch_norm(x, None, None, w, b, True) ** 3, (5, 3), (3,), (3,)
    ),
    "batch_norm in use": (running, IMAGE, (3,), (3,)),
    "group_norm": (
        lambda t, x, w, b: functional(t).group_norm(x, 2, w, b) ** 2, (1, 4, 2, 2), (4,), (4,)
    ),
    "instance_norm": (
        lambda t, x, w: functional(t).instance_norm(x, weight=w) ** 2, (1, 3, 2, 2), (3,)
    ),
    "var": (lambda t, x: x.var() ** 2, S),
    "var of rows": (lambda t, x: x.var(1, correction=0) ** 2, S),
    "std": (lambda t, x: x.std(0, keepdim=True) * x, S),
}  # fmt: skip
RARER: dict[str, Any] = {
    "prod": (lambda t, x: x.prod(), S),
    "prod of rows": (lambda t, x: x.prod(1, keepdim=True) * 2, (2, 5)),
    "prod with zeros": (lambda t, x: x.floor().detach().mul(x).prod(0), (3, 3)),
    "cumprod": (lambda t, x: x.cumprod(1), (2, 5)),
    "cumprod of columns": (lambda t, x: x.cumprod(0), (3, 2)),
    "det": (lambda t, x: t.linalg.det(x), (2, 3, 3)),
    "logdet": (lambda t, x: t.logdet(x @ x.mT + t.eye(3, dtype=x.dtype)), (3, 3)),
    "slogdet": (lambda t, x: t.linalg.slogdet(x)[1], (4, 4)),
    "attention": (attention, (2, 3, 4), (2, 5, 4), (2, 5, 2)),
    "causal attention": (lambda t, q, k, v: attention(t, q, k, v, is_causal=True), (3, 4), (3, 4), (3, 4)),
    "attention with a mask": (lambda t, q, k, v, m: attention(t, q, k, v, attn_mask=m), (2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5)),
    "attention of groups": (
        lambda t, q, k, v: attention(t, q, k, v, enable_gqa=True), (1, 4, 3, 2), (1, 2, 5, 2), (1, 2, 5, 2),
    ),

    "mish": (lambda t, x: functional(t).mish(x), S),
    "glu": (lambda t, x: functional(t).glu(x), S),
    "prelu": (lambda t, x, w: functional(t).prelu(x, w) * x, S, (4,)),
    "smooth l1": (lambda t, x, y: functional(t).smooth_l1_loss(x * 2, y), S, S),
    "huber": (lambda t, x, y: functional(t).huber_loss(x * 2, y, delta=0.7), S, S),
    "kl_div": (
        lambda t, x, y: functional(t).kl_div(x.log_softmax(1), y.softmax(1), reduction="sum"), S, S
    ),
    "kl_div of logarithms": (
        lambda t, x, y: functional(t).kl_div(
            x.log_softmax(1), y.log_softmax(1), reduction="sum", log_target=True
        ), S, S
    ),
    "cosine similarity": (lambda t, x, y: functional(t).cosine_similarity(x, y), S, S),
    "cumsum": (lambda t, x: x.cumsum(1) ** 2, S),
    "einsum": (lambda t, x, y: t.einsum("ij,jk->ik", x, y) ** 2, S, (4, 2)),
    "einsum of heads": (
        lambda t, x, y: t.einsum("bhld,bhsd->bhls", x, y) ** 2, (2, 1, 2, 2), (2, 1, 3, 2)
    ),
    "einsum that adds up and repeats": (
        lambda t, x, y: t.einsum("ij,kl->k", x, y) * t.einsum("ij,j->ij", x, y[0]).sum(), S, (2, 4)
    ),
    "einsum of axes of one": (lambda t, x, y: t.tensordot(x, y, ([0, 1], [2, 0])), (1, 1, 1), (2, 1, 2)),
    "diagonal": (lambda t, x: x.diagonal(1) ** 2, S),
    "index_add": (lambda t, x: (x * x).index_add(0, t.tensor([0, 0, 2]), x * x) ** 2, S),
    "inverse": (lambda t, x: t.linalg.inv(x @ x.mT + 2 * t.eye(3).double()), S),
    "LSTM": (lambda t, x, h, *w: layer(t, "LSTM", x, h, w), *shapes_of(4)),
    "GRU": (lambda t, x, h, *w: layer(t, "GRU", x, h, w), *shapes_of(3)),
    "RNN": (lambda t, x, h, *w: layer(t, "RNN", x, h, w), *shapes_of(1)),
}  # fmt: skip
SQUARE = (3, 3)


def flat(t: Any, *parts: Any) -> Any:
    return t.cat([part.reshape(-1) for part in parts])


def definite(t: Any, x: Any) -> Any:
    return x @ x.mT + 2 * t.eye(x.shape[-1]).double()


def squares(t: Any, parts: Any) -> Any:
    """A function of factors that does not depend on their signs."""
    return flat(t, *(part * part for part in parts))


DECOMPOSITIONS: dict[str, Any] = {
    "cholesky": (lambda t, x: t.linalg.cholesky(definite(t, x)), SQUARE),
    "cholesky, upper": (lambda t, x: t.linalg.cholesky(definite(t, x), upper=True), (2, 2, 2)),
    "cholesky_solve": (lambda t, b, x: t.cholesky_solve(b, t.linalg.cholesky(definite(t, x))), (3, 2), SQUARE),
    "solve": (lambda t, x, b: t.linalg.solve(definite(t, x), b), SQUARE, (3, 2)),
    "solve for a vector": (lambda t, x, b: t.linalg.solve(definite(t, x), b), SQUARE, (3,)),
    "solve from the right": (lambda t, x, b: t.linalg.solve(definite(t, x), b, left=False), SQUARE, (2, 3)),
    "solve for one matrix and many": (lambda t, x, b: t.linalg.solve(definite(t, x), b), (2, 2), (3, 2, 1)),
    "solve_triangular": (
        lambda t, x, b: t.linalg.solve_triangular(definite(t, x), b, upper=True), SQUARE, (3, 2)
    ),
    "solve_triangular of ones": (
        lambda t, x, b: t.linalg.solve_triangular(x, b, upper=False, left=False, unitriangular=True),
        SQUARE, (2, 3),
    ),
    "eigh": (lambda t, x: squares(t, t.linalg.eigh(x + x.mT)), SQUARE),
    "eigvalsh": (lambda t, x: t.linalg.eigvalsh(x + x.mT), SQUARE),
    "svd": (lambda t, x: squares(t, t.linalg.svd(x, full_matrices=False)), (3, 2)),
    "svd of a wide matrix": (lambda t, x: squares(t, t.linalg.svd(x, full_matrices=False)), (2, 3)),
    "svdvals": (lambda t, x: t.linalg.svdvals(x), S),
    "qr": (lambda t, x: squares(t, t.linalg.qr(x)), (4, 3)),
    "qr of a wide matrix": (lambda t, x: squares(t, t.linalg.qr(x)), (2, 3)),
    "inv": (lambda t, x: t.linalg.inv(definite(t, x)), (2, 2, 2)),
    "pinv": (lambda t, x: t.linalg.pinv(x), S),
    "lstsq": (lambda t, x, b: t.linalg.lstsq(x, b).solution, (4, 2), (4, 3)),
    "lstsq and what is left": (
        lambda t, x, b: flat(t, *t.linalg.lstsq(x, b, driver="gelsd")[:2]), (4, 2), (4, 1)
    ),
    "matrix_exp": (lambda t, x: t.matrix_exp(x), (2, 2)),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), (2, 3), (2, 3)),
    "trace": (lambda t, x: x.trace() ** 2, SQUARE),
    "vecdot": (lambda t, x, y: t.linalg.vecdot(x, y), S, S),
    "kron": (lambda t, x, y: t.kron(x, y) * 2, (2,), (2, 3)),
    "block_diag": (lambda t, x, y: t.block_diag(x, y) ** 2, (2,), (2, 3)),
    "vander": (lambda t, x: t.linalg.vander(x, N=4), (3,)),
    "cov": (lambda t, x: t.cov(x), S),
    "solve of nothing": (lambda t, x, b: t.linalg.solve(x, b), (0, 0), (0,)),
}  # fmt: skip
PLACES = [[0, 0, 2, 1], [2, 2, 2, 0], [1, 1, 0, 0]]
SELECTIONS: dict[str, Any] = {
    "median": (lambda t, x: x.median() ** 2, S),
    "median of rows": (lambda t, x: x.median(1)[0] ** 2, S),
    "nanmedian": (lambda t, x: x.nanmedian() ** 2, (5,)),
    "mode": (lambda t, x: x.mode(1)[0] ** 2, S),
    "kthvalue": (lambda t, x: x.kthvalue(2, 1)[0] ** 2, S),
    "quantile": (lambda t, x: x.quantile(0.3, 1) ** 2, S),
    "quantiles of all": (lambda t, x: x.quantile(t.tensor([0.2, 0.9]).double()) ** 2, S),
    "images to columns": (
        lambda t, x: functional(t).unfold(x, (2, 1), dilation=(1, 2), padding=(1, 0), stride=2) ** 2, (1, 2, 3, 4)
    ),
    "columns to images": (lambda t, x: functional(t).fold(x, (3, 3), 2, padding=1, stride=2) ** 2, (2, 4, 4)),
    "pixel_shuffle": (lambda t, x: functional(t).pixel_shuffle(x, 2) ** 2, (1, 4, 2, 1)),
    "adaptive_max_pool2d": (lambda t, x: functional(t).adaptive_max_pool2d(x, 2) ** 2, IMAGE),
    "max_pool2d with places": (
        lambda t, x: functional(t).max_pool2d(x, 2, 1, return_indices=True)[0] ** 2, IMAGE
    ),
    "cummax": (lambda t, x: x.cummax(1)[0] ** 2, S),
    "logcumsumexp": (lambda t, x: x.logcumsumexp(1), S),
    "logcumsumexp of far numbers": (lambda t, x: (1000 * x).logcumsumexp(0), (3,)),
    "take": (lambda t, x: x.take(t.tensor([0, 5, 5])) ** 2, S),
    "put": (lambda t, x, y: x.put(t.tensor([0, 5, 7, 2]), y) ** 2, S, (4,)),
    "select_scatter": (lambda t, x, y: x.select_scatter(y, 1, 2) ** 2, S, (3,)),
    "diagonal_scatter": (lambda t, x, y: x.diagonal_scatter(y, 1) ** 2, S, (3,)),
    "diag_embed": (lambda t, x: t.diag_embed(x, 1) ** 2, S),
    "rot90": (lambda t, x: t.rot90(x) ** 2 * 2, S),
    "as_strided": (lambda t, x: (x * x).as_strided((2, 3), (2, 1), 1) ** 2, S),
    "masked_fill with a tensor": (lambda t, x, y: (x * x).masked_fill(t.eye(3, 4).bool(), y) * x, S, ()),
    "index_fill with a tensor": (lambda t, x, y: (x * x).index_fill(0, t.tensor([1]), y * y) * x, S, ()),
    **{
        f"scatter_reduce, {how}": (
            lambda t, x, y, how=how: (x * x).scatter_reduce(0, t.tensor(PLACES), y * y, how) ** 2, S, (3, 4)
        ) for how in ("sum", "mean", "prod", "amax", "amin")
    },
    "diff": (lambda t, x, y: t.diff(x, 2, 1, prepend=y) ** 2, S, (3, 2)),
    "slopes": (lambda t, x: t.gradient(x, dim=1)[0] ** 2, S),
    "var_mean": (lambda t, x: flat(t, *t.var_mean(x, 1)) ** 2, S),
    "std_mean": (lambda t, x: flat(t, *t.std_mean(x)) ** 2, S),
}  # fmt: skip
SPECIAL: dict[str, Any] = {
    "erfc": (lambda t, x: x.erfc(), S),
    "erfcx": (lambda t, x: t.special.erfcx(x), S),
    "ndtri": (lambda t, x: t.special.ndtri(x.sigmoid()), S),
    "log_ndtr": (lambda t, x: t.special.log_ndtr(x), S),
    "lgamma": (lambda t, x: t.lgamma(x + 2), S),
    "digamma": (lambda t, x: t.digamma(x + 2), S),
    "logaddexp2": (lambda t, x, y: t.logaddexp2(x, y), S, S),
    "copysign": (lambda t, x, y: t.copysign(x, y) * x, S, S),
    "frac": (lambda t, x: x.frac() * x, S),
    "remainder": (lambda t, x, y: t.remainder(x, y + 3) * y, S, S),
    "two types": (lambda t, x, y: x.float() * y, S, S),
    "a norm of rows": (lambda t, x: x.norm(3.5, dim=1), S),
    "a norm of zeros": (lambda t, x: (x * 0).norm(3.5), S),
    "rrelu": (lambda t, x: functional(t).rrelu(x, 0.3, 0.3, training=True) * x, S),
    "bernoulli": (lambda t, x: (x * 0).bernoulli() + x * x, S),
    "normal": (lambda t, x: t.normal(x * 1, t.zeros(3, 4).double()) * x, S),
    "all dropped for SELUs": (lambda t, x: functional(t).alpha_dropout(x * x, 1.0, True) + x * x, S),
    "binary cross entropy of probabilities": (
        lambda t, x, y: functional(t).binary_cross_entropy(x.sigmoid(), y.sigmoid()), S, S
    ),
    "binary cross entropy of one probability": (
        lambda t, x, y: functional(t).binary_cross_entropy(x.sigmoid(), y.sigmoid()), (), ()
    ),
    "binary cross entropy, weighted": (
        lambda t, x, y: functional(t).binary_cross_entropy_with_logits(
            x, y.sigmoid(), weight=t.arange(4.0).double(), pos_weight=t.arange(4.0).double() + 1
        ), S, S
    ),
    "smoothed cross entropy": (
        lambda t, x: functional(t).cross_entropy(x, classes(t), label_smoothing=0.2), S
    ),
    "two parts": (
        lambda t, x, y: (t.complex(x, y).conj_physical() * t.complex(y, x)).real, S, S
    ),
    "cross entropy of distributions": (
        lambda t, x, y: functional(t).cross_entropy(
            x, y.softmax(1), weight=t.arange(4.0).double() + 1, label_smoothing=0.1
        ), S, S
    ),
}  # fmt: skip
EXPRESSIONS: dict[str, Any] = (
    ELEMENTWISE | LAYERS | PRODUCTS_AND_SUMS | SHAPES | IMAGES | NORMS | RARER
) | DECOMPOSITIONS | SELECTIONS | SPECIAL  # fmt: skip
