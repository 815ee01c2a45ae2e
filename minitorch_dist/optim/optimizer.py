"""The base of all optimizers: parameters in groups, state per parameter, hooks around the step.

An optimizer walks over `param_groups`, each a dict with `params` and its own options, and keeps in
`state[p]` what its rule remembers about parameter `p`. A concrete optimizer gives the rule as a
function of numpy arrays and a `step` that collects the arrays. It writes into the parameters in place and
counts that write. So a backward pass whose forward read the old values refuses to run, instead of computing
a wrong gradient.
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar, overload

from minitorch_dist.inventory.not_offered import tells_what_is_gone
from minitorch_dist.optim import states
from minitorch_dist.tensors import ledger
from minitorch_dist.tensors.autograd.hooks import Hooks, RemovableHandle
from minitorch_dist.tensors.core.without_warnings import enter_silence, leave_silence, silent
from minitorch_dist.tensors.tensor import Tensor

Group: TypeAlias = dict[str, Any]
Params: TypeAlias = "Iterable[Tensor] | Iterable[Group]"
Closure: TypeAlias = Callable[[], Any]
Loss = TypeVar("Loss")

_before_every_step: Hooks = {}
_after_every_step: Hooks = {}


@tells_what_is_gone
class Optimizer:
    """Base class. `defaults` are the options of groups that do not give their own."""

    param_groups: list[Group]
    state: defaultdict[Any, Any]
    _step_pre: Hooks
    _step_post: Hooks
    _opt_called: bool = False  # whether step() ran: what learning-rate schedules ask

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got torch.FloatTensor; write [tensor] for a single one"
            )
        if defaults.get("differentiable"):
            raise NotImplementedError(
                "differentiable=True is not offered: a step here writes arrays and records nothing"
            )
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._step_pre, self._step_post = {}, {}
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ----------------------------------------------------------------------------------- stepping

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters from their gradients; `closure` computes the loss anew."""
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients: without one a parameter is left alone by step()."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                if set_to_none:
                    p._grad = None
                else:
                    grad._grad_fn, grad._requires_grad = None, False
                    grad.array[...] = 0
                    grad.storage.version += 1

    # ------------------------------------------------------------------------------ what it holds

    def add_param_group(self, param_group: Group) -> None:
        """Optimize these parameters too, with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + type(p).__name__)
            if not (p.is_leaf or p._retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        ids = {id(p) for p in params}
        if len(ids) < len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        for group in self.param_groups:
            if not ids.isdisjoint(id(p) for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        param_group["params"] = params
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            for key in sorted(group.keys() - {"params"}):
                text += f"    {key}: {group[key]}\n"
        return text + ")"

    def __getstate__(self) -> dict[str, Any]:  # hooks stay behind
        return {name: getattr(self, name) for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("_step_pre", "_step_post"):
            self.__dict__.setdefault(name, {})

    # -------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """The state and the options, with numbers in place of the parameters (see `states`)."""
        return states.pack(self.param_groups, self.state)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from `state_dict`. The tensors are copied, so nothing is shared with it."""
        with ledger.category("optimizer"):
            groups, state = states.unpack(state_dict, self.param_groups)
        self.__setstate__({"state": state, "param_groups": groups})

    # -------------------------------------------------------------------------------------- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before step() and may return new (args, kwargs)."""
        return RemovableHandle(self._step_pre, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs after step()."""
        return RemovableHandle(self._step_post, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the hooks around it. They see the optimizer as the first of `args`."""

    @functools.wraps(step)
    def stepped(*args: Any, **kwargs: Any) -> Any:
        self: Optimizer = args[0]
        self._opt_called = True
        if self._step_pre or self._step_post or _before_every_step or _after_every_step:
            return _step_with_hooks(silent(step), args, kwargs)
        before = enter_silence()
        try:
            return step(*args, **kwargs)
        finally:
            leave_silence(before)

    return stepped


def _step_with_hooks(step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    self: Optimizer = args[0]
    for hook in (*_before_every_step.values(), *self._step_pre.values()):
        changed = hook(self, args, kwargs)
        if changed is not None:
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{step.__qualname__}'s pre-hook must return None or a tuple of "
                    f"(new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
    out = step(*args, **kwargs)
    for hook in (*self._step_post.values(), *_after_every_step.values()):
        hook(self, args, kwargs)
    return out


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs before every step of every optimizer."""
    return RemovableHandle(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs after every step of every optimizer."""
    return RemovableHandle(_after_every_step, hook)


def number(option: Any) -> Any:
    """An option as a plain number, where a one-element tensor was given."""
    return option.array.item() if isinstance(option, Tensor) else option
