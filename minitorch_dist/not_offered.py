"""Modules of torch that are not here: an import of one says where its names are, or what to do instead.

    import minitorch_dist.overrides
    ModuleNotFoundError: No module named 'minitorch_dist.overrides'. Wrap the tensor in a class of your own …

It is a ModuleNotFoundError, so a program that tries one import and then another goes on. A sentence holds for
all modules under its name, unless a longer name has one of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

_QUANTIZED = "Lower the precision with `autocast`, or quantize the saved weights in PyTorch."
_DEVICES = "Tensors are on the CPU, on the device meta or on simulated devices of `cuda`."
_COMPILER = "Nothing is compiled here: call the model as it is."
_PROFILER = "Take `profiler.profile`."

INSTEAD: Final = {
    "accelerator": "Its functions are in `accelerator` itself.",
    "ao": _QUANTIZED,
    "autograd": "Its functions and classes are in `autograd` itself.",
    "autograd.forward_ad": "Derivatives go backwards only, with `autograd.grad`: PyTorch has both ways.",
    "autograd.grad_mode": "Take `no_grad`, `enable_grad` or `inference_mode`.",
    "autograd.profiler": _PROFILER,
    "autograd.profiler_legacy": _PROFILER,
    "autograd.profiler_util": _PROFILER,
    "backends": "Numpy computes everything, so there is nothing to choose.",
    "compiler": _COMPILER,
    "contrib": "Take `utils.tensorboard` for curves.",
    "cpu": "Its functions are in `cpu` itself; for mixed precision take `amp.autocast` and `amp.GradScaler`.",
    "cuda": _DEVICES,
    "distributed": "Its functions and classes are in `distributed` itself.",
    "distributed.tensor": "Its classes are in `distributed.tensor` itself, and its styles in `distributed.tensor.parallel`.",
    "distributed.tensor.debug": "Where CommDebugMode counts collectives, `mtd run --journal FILE` writes each of them down.",
    "distributions": "The classes are in `distributions` itself.",
    "export": _COMPILER,
    "fft": "PyTorch has Fourier transforms; numpy.fft has them for arrays, which `from_numpy` takes.",
    "functional": "Its functions, such as `einsum` and `norm`, are in `minitorch_dist` itself.",
    "fx": "Call the model; `nn.Module.register_forward_hook` shows what its layers get and give.",
    "jit": _COMPILER,
    "library": "Write an operation with its gradient as an `autograd.Function`.",
    "masked": "Take `where` or `Tensor.masked_fill`, and a sum over the mask.",
    "monitor": "Count in your own program, and draw with `utils.tensorboard`.",
    "mps": _DEVICES,
    "mtia": _DEVICES,
    "multiprocessing": "Take `multiprocessing.spawn`, or Python's own multiprocessing.",
    "nativert": _COMPILER,
    "nested": "Pad with `nn.utils.rnn.pad_sequence`, or pack with `nn.utils.rnn.pack_sequence`.",
    "nn": "Its layers are in `nn` itself, and its functions in `nn.functional`.",
    "nn.intrinsic": _QUANTIZED,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "nn.utils.parametrize": "Compute the weight in `forward`, or take `nn.utils.weight_norm` or `nn.utils.spectral_norm`.",
    "nn.utils.prune": "Multiply the weight with a mask in `forward`, or set its zeros again under `no_grad` after each step.",
    "numa": "Start the processes with the system's numactl.",
    "onnx": "Save the weights with `save`, and export the model in PyTorch.",
    "optim": "The optimizers are in `optim` itself.",
    "overrides": "Wrap the tensor in a class of your own, or hook modules with `nn.Module.register_forward_hook`.",
    "package": "Save the weights with `save`, and let the code travel as a package of Python.",
    "profiler": _PROFILER,
    "quantization": _QUANTIZED,
    "quasirandom": "Take scipy.stats.qmc, and `from_numpy`.",
    "return_types": "Functions with several results return named tuples: take their type from a result.",
    "serialization": "Take `save` and `load`.",
    "signal": "Take numpy's windows, such as numpy.hanning, and `from_numpy`.",
    "sparse": "PyTorch has sparse tensors. A dense one with zeros gives the same numbers.",
    "special": "PyTorch has the special functions; scipy.special has them for arrays, which `from_numpy` takes.",
    "storage": "Take `Tensor.untyped_storage`.",
    "testing": "Take `testing.assert_close`.",
    "torch_version": "Take `__version__`.",
    "types": "Take Python's own types: `int | float | bool` is torch's Number.",
    "utils": "It is not needed here, or belongs to compilers and extensions.",
    "utils.benchmark": "Take Python's timeit, or `profiler.profile`.",
    "utils.collect_env": "Take `__version__` and numpy.show_config.",
    "utils.deterministic": "Take `use_deterministic_algorithms`.",
    "utils.hooks": "The hooks are in `nn.Module`; the handle that they return has `remove`.",
    "utils.model_zoo": "Nothing is downloaded: read weights that you have with `load`.",
    "utils.module_tracker": "Take `utils.flop_counter.FlopCounterMode`.",
    "utils.viz": "Take `profiler.profile` with `profile_memory=True`.",
    "xpu": _DEVICES,
}  # fmt: skip


# The command, the course and the planner stand in a package beside the library. Python asks for the package of a module first.
MOVED: Final = {
    "cli": "mtd.cli",
    "course": "mtd.course",
    "sim.calibration": "mtd.calibration",
    "sim.device_calibration": "mtd.device_calibration",
    "sim.estimates": "mtd.estimates",
    "sim.papers": "mtd.papers",
    "sim.planning": "mtd.planning",
    "sim.traces": "mtd.traces",
    "sim.zoo": "mtd.zoo",
}


def instead_of(name: str) -> str:
    """The sentence for a module of torch's, or for one that has moved; "" if there is none."""
    if name in MOVED:
        return f"It is `{MOVED[name]}` now."
    while name and name not in INSTEAD:
        name = name.rpartition(".")[0]
    return INSTEAD.get(name, "")


class LastFinder:
    """Python asks it last, for modules that nobody else has found."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        package, _, name = fullname.partition(".")
        if package == __package__ and (words := instead_of(name)):
            # `from nn.utils import prune` would swallow an error with the module's name in it.
            named = None if name in INSTEAD else fullname
            raise ModuleNotFoundError(f"No module named {fullname!r}. {words}", name=named)


sys.meta_path.append(LastFinder())
