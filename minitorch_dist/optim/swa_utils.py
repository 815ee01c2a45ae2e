"""Averages of a model over the course of training: equal ones (SWA, arXiv:1803.05407), or exponential ones (EMA).

ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
ema.update_parameters(model)       after each step
ema(x)                             the average computes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from minitorch_dist.nn.modules.batchnorm import _BatchNorm
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.optim.lr_scheduler.schedule import LRScheduler
from minitorch_dist.tensors.autograd.grad_modes import no_grad
from minitorch_dist.tensors.ops.making.creation import tensor

Average = Callable[[Any, Any, Any], Any]
Averages = Callable[[Sequence[Any], Sequence[Any], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay · average + (1 - decay) · parameter"""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """The mean of all models so far"""

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """`get_ema_avg_fn` for lists of tensors, in place"""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_params: Sequence[Any], current: Sequence[Any], _: Any) -> None:
        for average, parameter in zip(ema_params, current, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(parameter, 1 - decay)
            else:
                average.copy_(average * decay + parameter * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Averages:
    """`get_swa_avg_fn` for lists of tensors, in place"""

    @no_grad()
    def swa_update(averaged: Sequence[Any], current: Sequence[Any], num_averaged: Any) -> None:
        for average, parameter in zip(averaged, current, strict=True):
            average.copy_(average + (parameter - average) / (num_averaged + 1))

    return swa_update


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


class AveragedModel(Module):
    """A copy of a model that follows it as an average of all its states."""

    n_averaged: Any

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the average; the first time, they are the average."""
        own, theirs = self._averaged(self.module), self._averaged(model)
        given = [new.detach().to(old.device) for old, new in zip(own, theirs, strict=True)]
        if self.n_averaged == 0:
            for average, parameter in zip(own, given, strict=True):
                average.copy_(parameter)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(own, given, self.n_averaged)
        else:
            mean = self.avg_fn or get_swa_avg_fn()
            for average, parameter in zip(own, given, strict=True):
                average.copy_(mean(average, parameter, self.n_averaged))
        if not self.use_buffers:
            for mine, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(buffer.detach().to(mine.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Any]:
        found: list[Any] = list(model.parameters())
        return [t.detach() for t in (found + list(model.buffers()) if self.use_buffers else found)]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Measure the running statistics of batch norms anew, in one pass over `loader`."""
    norms = {layer: layer.momentum for layer in model.modules() if isinstance(layer, _BatchNorm)}
    if not norms:
        return
    was_training = model.training
    model.train()
    for layer in norms:
        layer.reset_running_stats()
        layer.momentum = None  # the mean of all batches
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for layer, momentum in norms.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Leads the learning rate to `swa_lr` within `anneal_epochs`, and leaves it there."""

    def __init__(
        self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ValueError(
                f"swa_lr must have the same length as optimizer.param_groups. swa_lr has {len(rates)} "
                f"values, param_groups has {len(groups)}."
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for rate, group in zip(rates, groups, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Each rate goes back to where it would have begun, and from there one step further."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._share(max(0, min(1, (step - 1) / max(1, self.anneal_epochs))))
        share = self._share(max(0, min(1, step / max(1, self.anneal_epochs))))
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * share + first * (1 - share))
        return rates

    def _share(self, t: float) -> float:
        return t if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2
