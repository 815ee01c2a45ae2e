"""Operations that few programs use: elimination, eigenvalues, volumes, spectrograms, Bessel functions, as torch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity
DRAW = np.random.default_rng(5)


def numbers(*shape: int) -> Any:
    return np.asarray(DRAW.normal(size=shape))


def positive(*shape: int) -> Any:
    x = numbers(*shape)
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1])


def complex_numbers(*shape: int) -> Any:
    return numbers(*shape) + 1j * numbers(*shape)


def error_of(program: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeError) as caught:
        program()
    return type(caught.value).__name__.lstrip("_")


SINGULAR = np.array([[[1.0, 2.0], [2.0, 4.0]], [[3.0, 1.0], [1.0, 2.0]]])
LINEAR: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "lu": (lambda t, a: t.linalg.lu(a), [numbers(4, 4)]),
    "lu of a batch": (lambda t, a: t.linalg.lu(a), [numbers(2, 3, 3, 3)]),
    "lu, tall": (lambda t, a: t.linalg.lu(a), [numbers(2, 5, 3)]),
    "lu, wide": (lambda t, a: t.linalg.lu(a), [numbers(2, 3, 5)]),
    "lu, empty": (lambda t, a: t.linalg.lu(a), [numbers(0, 3, 3)]),
    "lu, no pivots": (lambda t, a: t.linalg.lu(a, pivot=False), [numbers(3, 3)]),
    "lu_factor": (lambda t, a: t.linalg.lu_factor(a), [numbers(2, 4, 4)]),
    "lu_factor, tall": (lambda t, a: t.linalg.lu_factor(a), [numbers(4, 2)]),
    "lu_factor, wide": (lambda t, a: t.linalg.lu_factor(a), [numbers(2, 4)]),
    "lu_factor, singular": (lambda t, a: t.linalg.lu_factor(a), [SINGULAR]),
    "lu_factor_ex": (lambda t, a: t.linalg.lu_factor_ex(a.detach()), [SINGULAR]),
    "torch.lu": (lambda t, a: t.lu(a, get_infos=True), [numbers(3, 3)]),
    "Tensor.lu": (lambda t, a: a.lu(), [numbers(3, 3)]),
    "lu_unpack": (lambda t, a: t.lu_unpack(*t.linalg.lu_factor(a)), [numbers(2, 4, 3)]),
    "lu_unpack, half": (lambda t, a: t.lu_unpack(*t.linalg.lu_factor(a), unpack_data=False)[0], [numbers(3, 3)]),
    "lu_solve": (lambda t, a, b: t.linalg.lu_solve(*t.linalg.lu_factor(a), b), [numbers(2, 3, 3), numbers(2, 3, 2)]),
    "lu_solve, right": (lambda t, a, b: t.linalg.lu_solve(*t.linalg.lu_factor(a), b, left=False), [numbers(3, 3), numbers(2, 3)]),
    "lu_solve, adjoint": (lambda t, a, b: t.linalg.lu_solve(*t.linalg.lu_factor(a), b, adjoint=True), [numbers(3, 3), numbers(3, 2)]),
    "lu_solve, both": (lambda t, a, b: t.linalg.lu_solve(*t.linalg.lu_factor(a), b, left=False, adjoint=True), [numbers(3, 3), numbers(2, 3)]),
    "torch.lu_solve": (lambda t, a, b: t.lu_solve(b, *t.linalg.lu_factor(a)), [numbers(3, 3), numbers(3, 2)]),
    "cholesky_ex": (lambda t, a: t.linalg.cholesky_ex(a), [positive(2, 3, 3)]),
    "cholesky_ex, upper": (lambda t, a: t.linalg.cholesky_ex(a, upper=True), [positive(3, 3)]),
    "cholesky_ex, info": (lambda t, a: t.linalg.cholesky_ex(a.detach()).info, [np.stack([-np.eye(3), np.eye(3), np.diag([1.0, 2, -1])])]),
    "cholesky_ex, error": (lambda t, a: error_of(lambda: t.linalg.cholesky_ex(a, check_errors=True)), [-np.eye(3)]),
    "inv_ex": (lambda t, a: t.linalg.inv_ex(a), [numbers(2, 3, 3)]),
    "inv_ex, info": (lambda t, a: t.linalg.inv_ex(a.detach()).info, [SINGULAR]),
    "inv_ex, error": (lambda t, a: error_of(lambda: t.linalg.inv_ex(a, check_errors=True)), [SINGULAR]),
    "solve_ex": (lambda t, a, b: t.linalg.solve_ex(a, b), [numbers(3, 3), numbers(3, 2)]),
    "solve_ex, info": (lambda t, a, b: t.linalg.solve_ex(a.detach(), b.detach()).info, [SINGULAR, numbers(2, 2, 1)]),
    "eigvals": (lambda t, a: t.linalg.eigvals(a), [numbers(2, 4, 4)]),
    "eigvals, complex": (lambda t, a: t.linalg.eigvals(a), [complex_numbers(3, 3)]),
    "eig": (lambda t, a: (lambda e: (e.eigenvalues, e.eigenvectors.abs()))(t.linalg.eig(a)), [numbers(4, 4)]),
    "eig, complex": (lambda t, a: t.linalg.eig(a).eigenvectors.abs(), [complex_numbers(3, 3)]),
    "eig, ill-defined": (lambda t, a: t.linalg.eig(a).eigenvectors, [complex_numbers(3, 3)]),
    "tensorsolve": (lambda t, a, b: t.linalg.tensorsolve(a, b), [numbers(2, 3, 6), numbers(2, 3)]),
    "tensorsolve, dims": (lambda t, a, b: t.linalg.tensorsolve(a, b, dims=(0,)), [numbers(6, 2, 3), numbers(2, 3)]),
    "tensorsolve, no fit": (lambda t, a, b: t.linalg.tensorsolve(a, b), [numbers(2, 3, 5), numbers(2, 3)]),
    "tensorinv": (lambda t, a: t.linalg.tensorinv(a, ind=1), [numbers(6, 2, 3)]),
    "tensorinv, no fit": (lambda t, a: t.linalg.tensorinv(a, 1), [numbers(5, 2, 3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAR)
def test_linear_algebra(name: str) -> None:
    program, arrays = LINEAR[name]
    same(program, *arrays, rtol=1e-6, atol=1e-9)


V, W = numbers(2, 4, 5, 6, 7), numbers(6, 4, 2, 3, 3)
VOLUMES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "conv3d": (lambda f, x, w, b: f.conv3d(x, w, b), [V, W, numbers(6)]),
    "conv3d, settings": (lambda f, x, w: f.conv3d(x, w, None, (2, 1, 3), (1, 2, 0), (2, 1, 2)), [V, W]),
    "conv3d, groups": (lambda f, x, w: f.conv3d(x, w, groups=2, stride=2, padding=1), [V, numbers(6, 2, 3, 1, 2)]),
    "conv3d, same": (lambda f, x, w: f.conv3d(x, w, padding="same", dilation=(2, 1, 1)), [V[0], W]),
    "conv3d, too small": (lambda f, x, w: f.conv3d(x[:, :, :1], w), [V, W]),
    "conv_transpose3d": (lambda f, x, w, b: f.conv_transpose3d(x, w, b), [V, numbers(4, 3, 2, 3, 1), numbers(3)]),
    "conv_transpose3d, settings": (
        lambda f, x, w: f.conv_transpose3d(x, w, None, (2, 1, 3), (1, 0, 2), (1, 0, 1), 2, (1, 2, 1)), [V, numbers(4, 3, 3, 2, 3)]),
    "conv_transpose3d, one": (lambda f, x, w: f.conv_transpose3d(x, w, stride=2), [V[0], numbers(4, 2, 2, 2, 2)]),
    "max_pool3d": (lambda f, x: f.max_pool3d(x, 2), [V]),
    "max_pool3d, settings": (lambda f, x: f.max_pool3d(x, (3, 2, 3), (1, 2, 2), (1, 1, 0), (2, 1, 2), True, True), [V]),
    "max_pool3d, equal": (lambda f, x: f.max_pool3d(x, 2, 1, return_indices=True), [np.round(V[0])]),
    "avg_pool3d": (lambda f, x: f.avg_pool3d(x, 2), [V]),
    "avg_pool3d, settings": (lambda f, x: f.avg_pool3d(x, (3, 2, 3), (2, 1, 2), (1, 1, 0), True, False), [V]),
    "avg_pool3d, divisor": (lambda f, x: f.avg_pool3d(x, 3, 2, 1, True, True, 5), [V[0]]),
    "adaptive_avg_pool3d": (lambda f, x: f.adaptive_avg_pool3d(x, (2, 4, None)), [V]),
    "adaptive_max_pool3d": (lambda f, x: f.adaptive_max_pool3d(x, (2, 4, 3), True), [V]),
    "adaptive_max_pool3d, one": (lambda f, x: f.adaptive_max_pool3d(x, 3), [V[0]]),
    "max_unpool1d": (lambda f, x: f.max_unpool1d(*f.max_pool1d(x, 2, 2, return_indices=True), 2), [numbers(2, 3, 8)]),
    "max_unpool2d": (lambda f, x: f.max_unpool2d(*f.max_pool2d(x, 2, 2, return_indices=True), 2, output_size=(2, 3, 7, 9)), [numbers(2, 3, 7, 9)]),
    "max_unpool2d, wrong size": (lambda f, x: f.max_unpool2d(*f.max_pool2d(x, 2, 2, return_indices=True), 2, output_size=(12, 9)), [numbers(2, 3, 7, 9)]),
    "max_unpool3d": (lambda f, x: f.max_unpool3d(*f.max_pool3d(x, 2, return_indices=True), 2, padding=0), [V[:, :, :4, :, :6]]),
    "three dimensions": (lambda f, x: f.max_pool3d(x, 2), [V[0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name: str) -> None:
    program, arrays = VOLUMES[name]
    same(lambda t, *inputs: program(t.nn.functional, *inputs), *arrays, rtol=1e-6, atol=1e-9)


LAYERS = {
    "Conv3d": "n.Conv3d(4, 2, (2, 3, 1), stride=2, padding=1, padding_mode='circular')",
    "ConvTranspose3d": "n.ConvTranspose3d(4, 2, 3, stride=2, output_padding=1)",
    "MaxPool3d": "n.MaxPool3d(3, 2, padding=1)",
    "AvgPool3d": "n.AvgPool3d((2, 3, 2), stride=1, count_include_pad=False)",
    "AdaptiveAvgPool3d": "n.AdaptiveAvgPool3d(2)",
    "AdaptiveMaxPool3d": "n.AdaptiveMaxPool3d((3, 1, 2))",
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_volumes(name: str) -> None:
    def program(t: Any, x: Any) -> Any:
        layer = eval(LAYERS[name], {"n": t.nn}).double()
        for number, weight in enumerate(layer.parameters()):
            with t.no_grad():
                weight.copy_(t.from_numpy(np.cos(np.arange(weight.numel()) + number)).reshape(tuple(weight.shape)))  # fmt: skip
        return layer(x), repr(layer)

    same(program, V, rtol=1e-6, atol=1e-9)


def unpooled(t: Any, x: Any) -> Any:
    found, at = t.nn.MaxPool2d(2, 2, return_indices=True)(x)
    layer = t.nn.MaxUnpool2d(2, stride=2)
    return layer(found, at), layer(found, at, output_size=x.size()), repr(layer)


def unpooled_line(t: Any, x: Any) -> Any:
    return t.nn.MaxUnpool1d(2)(*t.nn.MaxPool1d(2, return_indices=True)(x))


def unpooled_volume(t: Any, x: Any) -> Any:
    return t.nn.MaxUnpool3d(2)(*t.nn.MaxPool3d(2, return_indices=True)(x))


S = numbers(3, 40)
SIGNALS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "unpooled": (unpooled, [numbers(1, 2, 5, 7)]),
    "unpooled, line": (unpooled_line, [numbers(1, 2, 6)]),
    "unpooled, volume": (unpooled_volume, [numbers(1, 2, 4, 2, 6)]),
    "stft": (lambda t, x: t.stft(x, 8, return_complex=True), [S]),
    "stft, window": (lambda t, x, w: t.stft(x, 8, 3, 6, w, return_complex=True, normalized=True), [S, numbers(6)]),
    "stft, all": (lambda t, x: t.stft(x, 8, onesided=False, center=False, return_complex=True), [S[0]]),
    "stft, complex": (lambda t, x: t.stft(x, 7, 2, center=False), [complex_numbers(20)]),
    "stft, parts": (lambda t, x: x.stft(8, pad_mode="constant", return_complex=False), [S]),
    "stft, not said": (lambda t, x: t.stft(x, 8), [S]),
    "stft, too long": (lambda t, x: t.stft(x, 80, return_complex=True), [S]),
    "there and back": (lambda t, x: t.istft(t.stft(x, 8, 2, window=t.hann_window(8, dtype=t.float64), return_complex=True), 8, 2, window=t.hann_window(8, dtype=t.float64)), [S]),
    "istft, length": (lambda t, x: t.istft(t.stft(x, 8, return_complex=True), 8, length=37), [S]),
    "istft, longer": (lambda t, x: t.istft(t.stft(x, 8, return_complex=True), 8, length=47), [S]),
    "istft, window": (lambda t, x, w: t.istft(x, 8, 3, 6, w, normalized=True), [complex_numbers(2, 5, 6), 1 + numbers(6) ** 2]),
    "istft, all": (lambda t, x: t.istft(x, 8, onesided=False, center=False), [complex_numbers(8, 6)]),
    "istft, complex": (lambda t, x: t.istft(x, 8, onesided=False, return_complex=True), [complex_numbers(8, 6)]),
    "istft, gaps": (lambda t, x: t.istft(x, 8, 12), [complex_numbers(5, 6)]),
    "istft, real": (lambda t, x: t.istft(x, 8), [numbers(5, 6)]),
    "windows": (lambda t: [getattr(t, kind)(n, periodic, dtype=t.float64) for n in (0, 1, 2, 7) for periodic in (True, False)
                           for kind in ("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window")], []),
    "windows, default": (lambda t: (t.hann_window(5), t.kaiser_window(6, False, 3.0), t.hamming_window(4, True, 0.6, 0.3)), []),
    "hfft": (lambda t, x: (t.fft.hfft(x), t.fft.hfft(x, 7, 0, "ortho"), t.fft.hfft2(x), t.fft.hfftn(x, norm="forward")), [complex_numbers(4, 5)]),
    "ihfft": (lambda t, x: (t.fft.ihfft(x), t.fft.ihfft(x, 7, 0, "ortho"), t.fft.ihfft2(x), t.fft.ihfftn(x, norm="forward")), [numbers(4, 5)]),
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name: str) -> None:
    program, arrays = SIGNALS[name]
    same(program, *arrays, rtol=1e-6, atol=1e-9)


WIDE = np.concatenate([np.linspace(-60, 60, 41), [0.0, 39.9, 40.1, 500.0, -700.0, np.nan]])
# torch's gradient of i1 at nan is 0.5
NUMBERS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "i0": (lambda t, x: t.i0(x), [WIDE]),
    "i0 of integers": (lambda t, x: t.special.i0(x), [np.arange(-3, 4)]),
    "i0 in float32": (lambda t, x: x.i0(), [WIDE[:40].astype(np.float32)]),
    "i0e": (lambda t, x: t.special.i0e(x), [WIDE]),
    "i1": (lambda t, x: t.special.i1(x), [WIDE[:-1]]),
    "i1e": (lambda t, x: t.special.i1e(x), [WIDE[:-1]]),
    "mvlgamma": (lambda t, x: (t.mvlgamma(x, 3), t.special.multigammaln(x, 1)), [numbers(5) ** 2 + 2]),
    "frexp": (lambda t, x: t.frexp(x), [np.array([0.0, 1, -3.5, 1e-9, 7e20])]),
    "frexp of integers": (lambda t, x: t.frexp(x), [np.arange(3)]),
    "renorm": (lambda t, x: t.renorm(x, 2, 0, 1.5), [numbers(4, 3, 2)]),
    "renorm along the last": (lambda t, x: x.renorm(1, -1, 2.0), [numbers(4, 3)]),
    "renorm of a vector": (lambda t, x: t.renorm(x, 1, 0, 2.0), [numbers(4)]),
    "renorm_": (lambda t, x: (x * 1).renorm_(3.0, 1, 0.5), [numbers(4, 3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    program, arrays = NUMBERS[name]
    same(program, *arrays, rtol=1e-6 if arrays[0].dtype != np.float32 else 1e-5, atol=1e-9)


def test_i0_is_numpys() -> None:
    x = np.linspace(0, 90, 300)
    np.testing.assert_allclose(mtd.i0(mtd.from_numpy(x)).numpy(), np.i0(x), rtol=1e-13)
