"""Names and modules of torch that are not here: asking for one says so, and says how to have it.

    import minitorch_dist.overrides
    ModuleNotFoundError: No module named 'minitorch_dist.overrides'. Wrap the tensor in a class of your own …

A module's sentence stands in `INSTEAD`. It holds for all modules under its name, unless a longer name has one of its own.
Single names that were here stand in `gone.txt`, by module, and attributes by class.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, TypeVar

C = TypeVar("C")

_QUANTIZED = "Lower the precision with `autocast`, or quantize the saved weights in PyTorch."
_DEVICES = "Tensors are on the CPU, on the device meta or on simulated devices of `cuda`."
_COMPILER = "Nothing is compiled here: call the model as it is."
_PROFILER = "Take `profiler.profile`."

INSTEAD: Final = {
    "_dynamo": "Nothing is compiled here, so a compiler has no settings: leave the line out.",
    "_inductor": "Nothing is compiled here, so a compiler has no settings: leave the line out.",
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
    "contrib": "Take the package tensorboardX for curves.",
    "cpu": "For mixed precision take `amp.autocast` and `amp.GradScaler`.",
    "cuda": _DEVICES,
    "distributed": "Its functions and classes are in `distributed` itself.",
    "distributed.elastic": "The launcher, its agents and `distributed.elastic.multiprocessing.errors.record` are here; their news are in the logs of the workers and in a journal.",
    "distributed.tensor": "Its classes are in `distributed.tensor` itself, and its styles in `distributed.tensor.parallel`.",
    "distributed.tensor.debug": "Where CommDebugMode counts collectives, `mtd run --journal FILE` writes each of them down.",
    "distributions": "Take `distributions.Categorical`, or `randn` for normal numbers, and transform what they draw.",
    "export": "Call the model, save its `state_dict`, or cut it into a pipeline's stages by hand.",
    "fft": "Take numpy.fft for arrays, and `from_numpy`.",
    "func": "Derivatives go backwards only, with `autograd.grad`: PyTorch has both ways, and calls a module with other weights.",
    "functional": "Its functions, such as `einsum` and `norm`, are in `minitorch_dist` itself.",
    "fx": "Call the model; `nn.Module.register_forward_hook` shows what its layers get and give.",
    "hub": "Nothing is downloaded: build the model (`models` has some), and read weights that you have with `load`.",
    "jit": "Functions and modules run as they are written: leave the decorator out, and save a model's `state_dict`.",
    "library": "Write an operation with its gradient as an `autograd.Function`.",
    "masked": "Take `where` or `Tensor.masked_fill`, and a sum over the mask.",
    "monitor": "Count in your own program, and draw with the package tensorboardX.",
    "mps": _DEVICES,
    "mtia": _DEVICES,
    "multiprocessing": "Take `multiprocessing.spawn`, or Python's own multiprocessing.",
    "nativert": _COMPILER,
    "nested": "Pad with `nn.utils.rnn.pad_sequence`.",
    "nn": "Its layers are in `nn` itself, and its functions in `nn.functional`.",
    "nn.intrinsic": _QUANTIZED,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "nn.utils.parametrizations": "Compute the weight in `forward`, from parameters of your own.",
    "nn.utils.parametrize": "Compute the weight in `forward`, from parameters of your own.",
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
    "run": "PyTorch's launcher is torchrun, and the one here is mtdrun, or `distributed.run`.",
    "serialization": "Take `save` and `load`.",
    "signal": "Take numpy's windows, such as numpy.hanning, and `from_numpy`.",
    "sparse": "PyTorch has sparse tensors. A dense one with zeros gives the same numbers.",
    "special": "Take scipy.special for arrays, and `from_numpy`.",
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
    "utils.tensorboard": "The package tensorboardX has a SummaryWriter, which takes numbers and arrays.",
    "utils.viz": "Take `profiler.profile` with `profile_memory=True`.",
    "xpu": _DEVICES,
}


def instead_of(name: str) -> str:
    """The sentence for a module of torch's; "" if there is none."""
    while name and name not in INSTEAD:
        name = name.rpartition(".")[0]
    words = INSTEAD.get(name, "")
    return f"{words} PyTorch has it." if words and "PyTorch" not in words else words


LEFT: Final = "It was left out, so that this library stays small enough to be read. PyTorch has it."


@cache
def gone() -> dict[str, frozenset[str]]:
    """The names that were here, by module or class; those of the package itself stand under ""."""
    lines = resources.files(__package__).joinpath("gone.txt").read_text("utf-8").splitlines()
    told = (line.partition(":") for line in lines if not line.startswith("#"))
    return {module: frozenset(names.split()) for module, _, names in told}


def words_for(path: str) -> str:
    """The sentence for a name that is not there; "" if torch has no such name, or we never had it."""
    if path in INSTEAD:
        return instead_of(path)
    module, _, name = path.rpartition(".")
    return LEFT if name in gone().get(module, ()) else ""


def no_name(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have."""
    words = words_for(f"{module}.{name}".partition(".")[2])
    told = f"module {module!r} has no attribute {name!r}{words and '. '}{words}"
    return AttributeError(told, name=name)


def no_method(self: object, name: str) -> Any:
    """Raise for an attribute that a tensor does not have: it may be torch's."""
    words = words_for(f"Tensor.{name}")
    if not words:
        return object.__getattribute__(self, name)  # raises as before
    told = f"{type(self).__name__!r} object has no attribute {name!r}. {words}"
    raise AttributeError(told, name=name, obj=self)


def refuse_options(of: str, **options: Any) -> None:
    """NotImplementedError for an option of torch's that is given and not offered."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{name} is not offered for {of} here; PyTorch has it")


class Gone:
    """An attribute of a class that torch has and we no longer have: on the class, and on its instances."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__!r} has no attribute {self.name!r}. {LEFT}", name=self.name)


def tells_what_is_gone(cls: type[C]) -> type[C]:
    """Decorate a class whose name stands in `gone.txt`, with attributes that were in it."""
    for path, names in gone().items():
        if path.rpartition(".")[2] == cls.__name__:
            for name in names:
                setattr(cls, name, Gone(name))
    return cls


def no_attribute(self: object, name: str) -> AttributeError:
    """The error of a `__getattr__`, which Python asks last: also where a `Gone` has raised."""
    if any(isinstance(vars(cls).get(name), Gone) for cls in type(self).__mro__):
        return AttributeError(f"{type(self).__name__!r} has no attribute {name!r}. {LEFT}", name=name, obj=self)
    return AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


def guard(namespace: dict[str, Any], opened: Mapping[str, str] | None = None) -> None:
    """Let a module, whose `globals()` these are, tell of names and modules that are not in it. Names in `opened` come from
    the module that is named relative to it, which is imported when one of them is first asked for."""

    def find(name: str) -> Any:
        if opened and name in opened:
            module = importlib.import_module(f".{opened[name]}", namespace["__name__"])
            return namespace.setdefault(name, getattr(module, name, module))
        raise no_name(namespace["__name__"], name)

    namespace["__getattr__"] = find
    namespace.setdefault("__path__", [])  # so that Python asks for modules beneath it


class LastFinder:
    """Python asks it last, for modules that nobody else has found."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        package, _, name = fullname.partition(".")
        words = words_for(name) or instead_of(name)
        if package == "minitorch_dist" and words:
            # `from nn.utils import prune` would swallow an error with the module's name in it.
            named = None if words_for(name) else fullname
            raise ModuleNotFoundError(f"No module named {fullname!r}. {words}", name=named)


sys.meta_path.append(LastFinder())
