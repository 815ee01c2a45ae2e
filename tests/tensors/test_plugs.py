"""Fast forms stand beside the simple ones: without them everything works, and no thread gets the simple form by chance."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from minitorch_dist.tensors.ops import plugs

STEP = """
import sys
import minitorch_dist as torch
from minitorch_dist import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 3, padding=1), nn.Flatten(2))
rnn, words = nn.LSTM(16, 5), nn.Embedding(7, 16)
y = model(torch.randn(2, 2, 4, 4)).transpose(0, 1)
z, _ = rnn(y + words(torch.tensor([[1, 1], [2, 6], [1, 0]])))
(z * z).sum().backward()
for p in [*model.parameters(), *rnn.parameters(), *words.parameters()]:
    print(*p.grad.flatten().tolist())
print("minitorch_dist.tensors.ops.fast" in sys.modules)
"""


def gradients(is_simple: bool) -> list[list[float]]:
    env = {**os.environ, "MINITORCH_DIST_SIMPLE": "1" if is_simple else ""}
    said = subprocess.run([sys.executable, "-c", STEP], env=env, capture_output=True, text=True, check=True)
    *lines, is_there = said.stdout.splitlines()
    assert is_there == str(not is_simple)
    return [[float(number) for number in line.split()] for line in lines]


def test_a_step_without_the_fast_forms_has_the_same_gradients() -> None:
    for simple, fast in zip(gradients(True), gradients(False), strict=True):
        np.testing.assert_allclose(simple, fast, rtol=1e-4, atol=1e-6)


def test_a_thread_that_comes_during_the_import_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    @plugs.replaceable
    def form(array: object) -> str:
        return "simple"

    begun, may_end, said = threading.Semaphore(0), threading.Event(), list[str]()

    def import_module(name: str) -> None:
        begun.release()
        assert may_end.wait(60)
        plugs.instead_of(form)(lambda array: "fast")

    monkeypatch.setattr(plugs, "_fast", {})
    monkeypatch.setattr(plugs, "_waiting", [plugs.ROOM])
    monkeypatch.setattr(importlib, "import_module", import_module)
    callers: list[Any] = [threading.Thread(target=lambda: said.append(form(0))) for _ in range(3)]
    for caller in callers:
        caller.start()
    for _ in callers:
        assert begun.acquire(timeout=60), "a thread took the simple form"
    may_end.set()
    for caller in callers:
        caller.join(60)
    assert said == ["fast"] * 3 and form(0) == "fast"
