"""An optimizer's state by names instead of numbers, and back.

    numbers  {"state": {0: {"exp_avg": …}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    names    {"state": {"0.weight": {"exp_avg": …}}, "param_groups": [{"lr": 0.1, "params": ["0.weight"]}]}

`names` maps the id of each parameter to its names: several where it is shared, or is a flat one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.optim.optimizer import Optimizer

State = dict[str, Any]
Names = dict[int, list[str]]


def by_name(optimizer: Optimizer, names: Names) -> State:
    """The optimizer's state, each parameter under its first name."""
    saved = optimizer.state_dict()
    params = [p for group in optimizer.param_groups for p in group["params"]]
    called = [names[id(p)][0] for p in params]
    return {
        "state": {called[number]: entry for number, entry in saved["state"].items()},
        "param_groups": [
            {**group, "params": [called[number] for number in group["params"]]}
            for group in saved["param_groups"]
        ],
    }


def renamed(state: State, name: Callable[[str], str]) -> State:
    return {
        "state": {name(key): entry for key, entry in state["state"].items()},
        "param_groups": [
            {**group, "params": [name(key) for key in group["params"]]} for group in state["param_groups"]
        ],
    }


def part_of(optimizer: Optimizer, saved: State, names: Names, strict: bool) -> State:
    """Of a state of maybe several optimizers, this one's part, group by group."""
    home = {name: group for group in saved["param_groups"] for name in group["params"]}
    state, groups = {}, []
    for own in optimizer.param_groups:
        called: list[str] = []
        source: State = {}
        for p in own["params"]:
            for name in names[id(p)]:
                if name not in home and len(names[id(p)]) > 1:
                    continue  # another name of a shared parameter
                called.append(name)
                source = home.get(name, source)
                if name in saved["state"]:
                    state[name] = saved["state"][name]
                elif p.requires_grad and strict and optimizer.state.get(p):
                    raise RuntimeError(
                        f"Missing optimizer state for parameter '{name}' in checkpoint. The "
                        "parameter requires gradients but has no saved optimizer state. "
                        "To load anyway, use StateDictOptions(strict=False)."
                    )
        kept = {key: value for key, value in own.items() if key != "params"}
        groups.append({**kept, **source, "params": called})
    return {"state": state, "param_groups": groups}


def numbered(optimizer: Optimizer, part: State, names: Names, fitted: Callable[[Any, Any], Any]) -> State:
    """The argument for `load_state_dict`; `fitted` makes of a value the one that belongs to this rank's parameter."""
    state: dict[int, State] = {}
    groups: list[State] = []
    number = 0
    for own, group in zip(optimizer.param_groups, part["param_groups"], strict=True):
        numbers = []
        for p in own["params"]:
            name = next((n for n in names[id(p)] if n in part["state"]), None)
            if name is not None:
                state[number] = {key: fitted(value, p) for key, value in part["state"][name].items()}
            numbers.append(number)
            number += 1
        groups.append({**group, "params": numbers})
    return {"state": state, "param_groups": groups}
