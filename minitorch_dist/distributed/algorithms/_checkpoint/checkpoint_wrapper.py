"""A module whose inside is computed again for backward, instead of being kept: `utils.checkpoint` as a wrapper.

    layer = checkpoint_wrapper(layer)
    apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, Block))     every block of a model

The wrapper does not show in `state_dict()`; so a state fits the model with wrappers and without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any, Final

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.utils.checkpoint import checkpoint

INNER: Final = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{INNER}."  # torch's name


class CheckpointImpl(Enum):
    """Which of the two ways of `utils.checkpoint`."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """Around a module: its attributes and items are the module's, and so are the names in its state."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_wrapper)
        self.register_load_state_dict_pre_hook(_with_wrapper)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module.__getitem__(key)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


class CheckpointWrapper(ActivationWrapper):
    """Runs its module in a checkpoint."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl, self.checkpoint_fn = checkpoint_impl, checkpoint_fn
        self.options = checkpoint_fn_kwargs

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        inner = self._checkpoint_wrapped_module
        if self.checkpoint_fn is not None:
            return self.checkpoint_fn(inner, *args, **self.options, **kwargs)
        if self.checkpoint_impl is CheckpointImpl.NO_REENTRANT:
            return checkpoint(inner, *args, use_reentrant=False, **self.options, **kwargs)
        names = list(kwargs)  # the re-entrant way takes no keywords

        def call(*given: Any) -> Any:
            return inner(*given[: len(args)], **dict(zip(names, given[len(args) :], strict=True)))

        return checkpoint(call, *args, *kwargs.values(), use_reentrant=True, **self.options)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """The module, with its inside forgotten between forward and backward. Keywords go to the checkpoint."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wrap, in place, every module below `model` that `check_fn` (or an FSDP policy) says; inner ones first."""
    for module in list(model.modules()):
        if isinstance(module, ActivationWrapper):
            raise ValueError(f"this model has wrappers already, for example around {module!r}")
    _wrap_below(model, checkpoint_wrapper_fn, auto_wrap_policy or _by(check_fn), {})


def _by(check: Callable[[Module], bool]) -> Callable[..., bool]:
    def policy(module: Module, recurse: bool, nonwrapped_numel: int) -> bool:
        return recurse or check(module)

    return policy


def _wrap_below(
    module: Module,
    wrap: Callable[[Module], Module],
    policy: Callable[..., bool],
    done: dict[int, Module],
) -> None:
    for name, child in list(module.named_children()):
        if id(child) not in done:
            count = sum(p.numel() for p in child.parameters())
            if policy(module=child, recurse=True, nonwrapped_numel=count):
                _wrap_below(child, wrap, policy, done)
            chosen = policy(module=child, recurse=False, nonwrapped_numel=count)
            done[id(child)] = wrap(child) if chosen else child
        setattr(module, name, done[id(child)])


def _without_wrapper(module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    _rename(state, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)


def _with_wrapper(module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    _rename(state, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


def _rename(state: dict[str, Any], before: str, after: str) -> None:
    """Keys that begin with `before` begin with `after`; in their order."""
    renamed = {
        after + key[len(before) :] if key.startswith(before) else key: value
        for key, value in state.items()
    }
    state.clear()
    state.update(renamed)
