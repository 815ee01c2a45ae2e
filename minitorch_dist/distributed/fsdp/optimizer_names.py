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
            {**group, "params": [called[number] for number in group["params"]]} for group in saved["param_groups"]
        ],
    }


def numbered(
    optimizer: Optimizer, saved: State, names: Names, fitted: Callable[[Any, Any], Any], strict: bool = False
) -> State:
    """The argument for `load_state_dict`, from a state of maybe several optimizers. `fitted` makes of a value the one that
    belongs to this rank's parameter."""
    home = {name: group for group in saved["param_groups"] for name in group["params"]}
    state: dict[int, State] = {}
    groups: list[State] = []
    start = 0
    for own in optimizer.param_groups:
        source: State = {}
        for number, p in enumerate(own["params"], start):
            called = names[id(p)]
            source = next((home[name] for name in called if name in home), source)
            name = next((name for name in called if name in saved["state"]), None)
            if name is not None:
                state[number] = {key: fitted(value, p) for key, value in saved["state"][name].items()}
            elif strict and p.requires_grad and optimizer.state.get(p):
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{called[0]}' in checkpoint. The "
                    "parameter requires gradients but has no saved optimizer state. "
                    "To load anyway, use StateDictOptions(strict=False)."
                )
        stop = start + len(own["params"])
        groups.append({**own, **source, "params": list(range(start, stop))})
        start = stop
    return {"state": state, "param_groups": groups}
