"""torch's names for how a checkpoint is planned. Here `save` and `load` plan it themselves, and these hold their options.

A planner of one's own is not carried out: PyTorch has that, with `SavePlanner`, `LoadPlanner` and their plans.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.inventory import not_offered


class DefaultSavePlanner:
    """Everything is saved, once; entries of nested dicts get names of their own. torch's other options choose which rank
    writes what, and change nothing here: the rank that has least to write does it."""

    def __init__(self, flatten_state_dict: bool = True, **_: Any) -> None:
        if not flatten_state_dict:
            raise ValueError(
                "flatten_state_dict=False would keep a nested dict as one entry. Here each entry has a name of its own: leave it "
                "out, or take PyTorch"
            )


class DefaultLoadPlanner(DefaultSavePlanner):
    """Fills what the state has. `allow_partial_load`: an entry that is not in the checkpoint stays as it is."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        super().__init__(flatten_state_dict)
        self.allow_partial_load = allow_partial_load


def demand_usual(*given: Any) -> None:
    """TypeError for a planner, or a place, of a class of the user's own, which nobody would ask."""
    for one in given:
        if one is not None and not type(one).__module__.startswith(__name__.rpartition(".")[0]):
            raise TypeError(
                f"{type(one).__name__} is a class of your own. minitorch_dist plans a checkpoint itself and keeps it in a folder: give "
                "checkpoint_id=folder, and change what is saved in the state_dict. PyTorch carries out planners and storages"
            )


not_offered.guard(globals())
