"""The training steps that benchmarks time: the same lines for torch and for minitorch_dist.

`t` is a namespace, `torch` or `minitorch_dist`. A step is whole: zero_grad, forward, loss, backward, optimizer step. `how` it trains:

    plain   on one rank
    ddp     in DistributedDataParallel; `whole`: its gradients are one bucket, so nothing overlaps
    fsdp    with FullyShardedDataParallel; `rows`: with fully_shard
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from mtd.cli.bench import program_steps as programs
from mtd.cli.bench.collectives import ReadyRow
from mtd.cli.bench.program_steps import Step

PROGRAM = True  # a user's program, to the library that is timed


def model_source(t: ModuleType, name: str) -> Any:
    """The module `models/name.py`; for torch, the same source with its imports changed."""
    ours = f"minitorch_dist.models.{name}"
    if t.__name__ == "minitorch_dist":
        return importlib.import_module(ours)
    spec = importlib.util.find_spec(ours)
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    for here, there in (("minitorch_dist.tensors.tensor", "torch"), ("minitorch_dist", "torch")):
        text = text.replace(here, there)
    module = ModuleType(f"{name}_for_{t.__name__}")
    sys.modules[module.__name__] = module
    exec(compile(text, spec.origin, "exec"), module.__dict__)
    return module


class TimedModel(NamedTuple):
    """A model, a batch for it, and its loss."""

    make: Callable[[Any], Any]
    batch: tuple[int, ...]
    target: int | tuple[int, ...]  # so many classes, or numbers of this form
    loss: str = "cross_entropy"  # of classes; of numbers it is the mean squared error


def chain(*widths: int) -> Callable[[Any], Any]:
    """Linear layers, and ReLU between them."""

    def make(t: Any) -> Any:
        layers = [t.nn.Linear(m, n) for m, n in pairwise(widths)]
        return t.nn.Sequential(*[one for layer in layers for one in (layer, t.nn.ReLU())][:-1])

    return make


def alike(width: int) -> Callable[[Any], Any]:
    """Four linear layers of one width, each with ReLU behind it."""
    return lambda t: t.nn.Sequential(*chain(*[width] * 5)(t), t.nn.ReLU())


def small_convnet(t: Any) -> Any:
    nn = t.nn
    convolutions = [nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*convolutions, nn.Linear(64 * 28 * 28, 10))


TINY: Final = "tiny"  # nothing in it takes time but Python
THIN: Final = {f"thin{width}": width for width in (384, 1152, 2560)}  # many parameters, and little to compute
MODELS: Final[dict[str, TimedModel]] = {
    "toy": TimedModel(chain(10, 10, 5), (20, 10), (20, 5)),
    "mlp": TimedModel(chain(784, 512, 512, 10), (128, 784), 10),
    "convnet": TimedModel(lambda t: model_source(t, "convnet").ConvNet(), (32, 1, 28, 28), 10, "nll_loss"),
    "resnet50": TimedModel(lambda t: model_source(t, "resnet").resnet50(), (8, 3, 128, 128), 1000),
    "transformer": TimedModel(
        lambda t: t.nn.TransformerEncoderLayer(256, 8, batch_first=True), (8, 128, 256), (8, 128, 256)
    ),
    "wide": TimedModel(alike(2048), (64, 2048), (64, 2048)),  # 64 MB of gradients
    TINY: TimedModel(alike(8), (8, 8), (8, 8)),
    **{name: TimedModel(chain(width, width, width), (8, width), (8, width)) for name, width in THIN.items()},
    "mlp-1024": TimedModel(chain(784, 1024, 1024, 10), (32, 784), 10),
    "convnet-32": TimedModel(small_convnet, (16, 3, 32, 32), 10),
    "wide-16": TimedModel(alike(2048), (16, 2048), 2048),
}
BATCHES: Final = {name: MODELS[name].batch[0] for name in ("mlp", "convnet", "wide")}


def ready(t: ModuleType, name: str, how: str = "plain") -> ReadyRow:
    """A step of this model."""
    t.manual_seed(0)
    model, shape, target, loss = MODELS[name]
    made, x = model(t), t.randn(*shape)
    if isinstance(target, int):
        y, loss_of = t.randint(0, target, shape[:1]), getattr(t.nn.functional, loss)
    else:
        y, loss_of = t.randn(*target), t.nn.functional.mse_loss
    wrapped = _wrapped(t, made, how)
    optimizer = t.optim.SGD(wrapped.parameters(), lr=0.001)
    act = programs.stepped(optimizer, lambda: loss_of(wrapped(x), y))
    return ReadyRow(act, [x], lambda: [_whole(p) for p in wrapped.parameters()])


def _wrapped(t: Any, model: Any, how: str) -> Any:
    """Under `fsdp` and `rows` each layer with parameters is a unit."""
    if how == "plain":
        return model
    if how in ("ddp", "whole"):
        cap = 1 << 14 if how == "whole" else None
        return t.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=cap)
    fsdp = importlib.import_module(f"{t.__name__}.distributed.fsdp")
    kinds = t.nn.Linear, t.nn.Conv2d
    if how == "fsdp":
        policy = importlib.import_module(f"{fsdp.__name__}.wrap").ModuleWrapPolicy({*kinds})
        return fsdp.FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=t.device("cpu"))
    for layer in list(model.modules()):
        if isinstance(layer, kinds):
            fsdp.fully_shard(layer)
    return fsdp.fully_shard(model)


def _whole(parameter: Any) -> Any:
    """All of a parameter, also where each rank has a part of it."""
    own = parameter.detach()
    return own.full_tensor() if hasattr(own, "full_tensor") else own


def _alone(name: str) -> Callable[[Any], Step]:
    return lambda t: ready(t, name).act


STEPS: dict[str, tuple[Callable[[Any], Step], float, str]] = {
    "toy": (_alone("toy"), 0.8, "toy 10-10-5 MLP, batch 20"),
    "mlp": (_alone("mlp"), 1.1, "MLP 784-512-512-10, batch 128"),
    "convnet": (_alone("convnet"), 1.0, "MNIST ConvNet, batch 32"),
    "resnet50": (_alone("resnet50"), 1.5, "ResNet50, 128×128, batch 8"),
    "transformer": (_alone("transformer"), 1.3, "Transformer layer, 8×128 tokens"),
    "nanogpt": (programs.nanogpt, 1.0, "nanoGPT, 4 layers, 12×64 letters"),
    "lstm": (partial(programs.language_model, kind="LSTM"), 1.0, "LSTM language model, 20×35 words"),
    "gru": (partial(programs.language_model, kind="GRU"), 1.0, "GRU language model, 20×35 words"),
    "small_lstm": (programs.small_lstm, 0.6, "small LSTM, 8×12 words"),
    "espcn": (programs.espcn, 1.0, "ESPCN, 4 pictures of 85×85"),
    "vae": (programs.vae, 1.0, "VAE 784-400-20, batch 128"),
    "dcgan": (programs.dcgan, 1.0, "DCGAN 64×64, batch 8"),
    "gcn": (programs.gcn, 1.0, "GCN, 2,708 nodes, dense"),
    "actor_critic": (programs.actor_critic, 0.6, "actor-critic, 50 steps"),
}
