"""The training steps that `mtd bench nn` times: the same lines for torch and for minitorch_dist.

Each builder takes a namespace, `torch` or `minitorch_dist`, and returns a function that does one
whole step: zero_grad, forward, loss, backward, optimizer step.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from mtd.cli.bench import program_steps as programs
from mtd.cli.bench.program_steps import Step


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


def _classifier_step(t: Any, model: Any, x: Any, y: Any, loss: Any) -> Step:
    return programs.supervised(model, x, y, loss, t.optim.SGD(model.parameters(), lr=0.01))


def toy(t: Any) -> Step:
    nn = t.nn
    model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))
    return _classifier_step(t, model, t.randn(20, 10), t.randn(20, 5), nn.MSELoss())


def mlp(t: Any) -> Step:
    nn = t.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    y = t.randint(0, 10, (128,))
    return _classifier_step(t, model, t.randn(128, 784), y, nn.CrossEntropyLoss())


def convnet(t: Any) -> Step:
    model = model_source(t, "convnet").ConvNet()
    y = t.randint(0, 10, (32,))
    return _classifier_step(t, model, t.randn(32, 1, 28, 28), y, t.nn.functional.nll_loss)


def resnet50(t: Any) -> Step:
    model = model_source(t, "resnet").resnet50()
    y = t.randint(0, 1000, (8,))
    return _classifier_step(t, model, t.randn(8, 3, 128, 128), y, t.nn.CrossEntropyLoss())


def transformer(t: Any) -> Step:
    model = t.nn.TransformerEncoderLayer(256, 8, batch_first=True)
    return _classifier_step(t, model, t.randn(8, 128, 256), t.randn(8, 128, 256), t.nn.MSELoss())


STEPS: dict[str, tuple[Callable[[Any], Step], float, str]] = {
    "toy": (toy, 0.8, "toy 10-10-5 MLP, batch 20"),
    "mlp": (mlp, 1.1, "MLP 784-512-512-10, batch 128"),
    "convnet": (convnet, 1.0, "MNIST ConvNet, batch 32"),
    "resnet50": (resnet50, 1.5, "ResNet50, 128×128, batch 8"),
    "transformer": (transformer, 1.3, "Transformer layer, 8×128 tokens"),
    "nanogpt": (programs.nanogpt, 1.0, "nanoGPT, 4 layers, 12×64 letters"),
    "lstm": (programs.lstm, 1.0, "LSTM language model, 20×35 words"),
    "gru": (programs.gru, 1.0, "GRU language model, 20×35 words"),
    "small_lstm": (programs.small_lstm, 0.6, "small LSTM, 8×12 words"),
    "espcn": (programs.espcn, 1.0, "ESPCN, 4 pictures of 85×85"),
    "vae": (programs.vae, 1.0, "VAE 784-400-20, batch 128"),
    "dcgan": (programs.dcgan, 1.0, "DCGAN 64×64, batch 8"),
    "gcn": (programs.gcn, 1.0, "GCN, 2,708 nodes, dense"),
    "actor_critic": (programs.actor_critic, 0.6, "actor-critic, 50 steps"),
}
