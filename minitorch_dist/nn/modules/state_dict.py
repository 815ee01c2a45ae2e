"""A module's state as a flat dictionary of dotted names, and back.

`state_dict()` refers to the tensors, it does not copy them; `load_state_dict()` copies values *into*
the tensors the module has, so that an optimizer that knows them stays valid. A class that changes
its layout raises `_version`; the versions travel in `state_dict()._metadata`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minitorch_dist.nn.modules.tree import ModuleTree
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.autograd.hooks import Hooks, RemovableHandle
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

Hook = Callable[..., Any]


EXTRA = "_extra_state"  # what a module keeps beside its tensors


class _IncompatibleKeys(NamedTuple):
    """The keys that `load_state_dict` found missing and superfluous."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class StateDictModule(ModuleTree):
    """A module whose state can be taken out and put in."""

    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks

    def __init__(self) -> None:
        super().__init__()
        self.__dict__.update(_state_dict_pre_hooks={}, _load_state_dict_pre_hooks={})

    # ---------------------------------------------------------------------------------- taking out

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Parameters and persistent buffers by name: detached, sharing memory with the module.

        With `keep_vars` they are the very objects.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination  # type: ignore[no-any-return]

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Enter what belongs to this module itself. Classes with a state of their own override it."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if hasattr(self, "get_extra_state"):  # of a class of the user's
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state(self) -> dict[str, Any]:
        left_out = self._non_persistent_buffers_set
        buffers = {name: b for name, b in self._buffers.items() if name not in left_out}
        both = {**self._parameters, **buffers}
        return {name: tensor for name, tensor in both.items() if tensor is not None}

    # --------------------------------------------------------------------------------- putting in

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy values into this module's tensors, by name.

        With `strict` the names must match exactly. With `assign` the tensors of `state_dict` take
        the place of the module's own.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", {})
        state: Any = OrderedDict(state_dict)  # hooks may change it
        state._metadata = metadata
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        def load(module: Any, part: dict[str, Any], prefix: str) -> None:
            local = {**metadata.get(prefix[:-1], {})}
            if assign:
                local["assign_to_params_buffers"] = True
            # Always asked strictly: what is missing is returned, and refused only if `strict`.
            module._load_from_state_dict(part, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(below)}, below)

        load(self, state, "")
        if strict and unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        if strict and missing:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load what belongs to this module itself; names and complaints go into the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_tensor(name, key, tensor, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        known = {*own}
        if hasattr(self, "set_extra_state"):
            known.add(EXTRA)
            if prefix + EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + EXTRA])
            elif strict:
                missing_keys.append(prefix + EXTRA)
        if strict:
            for key in state_dict:
                first, dot, _ = key[len(prefix) :].partition(".")
                is_known = first in self._modules if dot else first in known
                if key.startswith(prefix) and not is_known:
                    unexpected_keys.append(key)

    def _load_tensor(self, name: str, key: str, mine: Any, value: Any, assign: bool, errors: list[str]) -> None:
        if not isinstance(value, Tensor):
            errors.append(f'expected a tensor for the parameter named "{key}", but received {type(value)}')
            return
        if mine.array.ndim == 0 and value.array.shape == (1,):  # as scalars were once saved
            value = base.new(Tensor, value.array[0], value.storage.device)
        shapes = [tuple(t.shape) if t.is_part else t.array.shape for t in (mine, value)]
        if shapes[0] != shapes[1]:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {_size(value)} from "
                f"checkpoint, the shape in current model is {_size(mine)}."
            )
        elif not assign:
            with grad_modes.no_grad():
                mine.copy_(value)
        elif mine.is_part:
            mine.adopt(value)
        elif not isinstance(mine, Parameter):
            setattr(self, name, value)
        else:
            made = value if isinstance(value, Parameter) else Parameter(value, mine.requires_grad)
            made.requires_grad = mine.requires_grad
            setattr(self, name, made)

    # --------------------------------------------------------------------------------------- hooks

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` before the state is collected."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`."""
        return RemovableHandle(self._load_state_dict_pre_hooks, hook)


def _quoted(keys: list[str]) -> str:
    """As torch does; a name that no terminal should see, since it came from a file, as `repr` writes it."""
    return ", ".join(f'"{key}"' if key.isprintable() else repr(key) for key in keys)


def _size(tensor: Tensor) -> str:
    return f"torch.Size({list(tensor.shape)})"
