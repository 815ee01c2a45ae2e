"""A rank of a PyTorch program that runs for others too (`fold=True`, see `mtd.planning.fold`).

Our groups note all that it begins, as for our own programs. Here is what only torch knows: its groups, and the
questions for one's own rank. A program's question is answered by a number that notices what it is compared with; torch's own
questions get plain numbers, and witnesses check that ranks differ in nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch.distributed as torch_dist
from torch.distributed import device_mesh, distributed_c10d as c10d

from minitorch_dist.distributed import world
from minitorch_dist.pytorch.process_group import MtdProcessGroup
from minitorch_dist.pytorch.replacing import replaced, replaced_everywhere

LIBRARIES: Final = ("torch.", "minitorch_dist.", "mtd.")
OF_RANK: Final = (b"RANK", b"LOCAL_RANK", b"ROLE_RANK")  # variables that differ from rank to rank
READERS: Final = ("os", "collections.abc", "_collections_abc", "minitorch_dist.pytorch.rank_reads")


def trace() -> Any:
    """Notes what this rank begins, if it runs for others."""
    here = world.place().world
    return None if here is None else here.trace


def _is_asked_by_program(depth: int) -> bool:
    """Whether the caller of our stand-in is the user's code."""
    return not f"{sys._getframe(depth).f_globals.get('__name__', '')}.".startswith(LIBRARIES)


@contextmanager
def in_place() -> Iterator[None]:
    """For all ranks of a run."""
    mesh = device_mesh.DeviceMesh
    with ExitStack() as around:
        around.enter_context(replaced_everywhere(c10d.get_rank, _get_rank(c10d.get_rank)))
        around.enter_context(replaced(mesh, "get_local_rank", _get_local_rank(mesh.get_local_rank)))
        around.enter_context(replaced(mesh, "get_coordinate", _get_coordinate(mesh.get_coordinate)))
        yield


def _watched(group: Any, value: int) -> int:
    """A rank in a group of torch's, as a number that notices comparisons."""
    noted = trace()
    watched: int = noted.number(value, noted.tables[noted.index(group.ours)])
    return watched


def _get_rank(original: Callable[..., int]) -> Callable[..., int]:
    def get_rank(group: Any = None) -> int:
        value = original(group)
        if trace() is None or value < 0 or not _is_asked_by_program(2):
            return value
        return _watched(torch_dist.group.WORLD if group is None else group, value)

    return get_rank


def _get_local_rank(original: Callable[..., int]) -> Callable[..., int]:
    def get_local_rank(self: Any, mesh_dim: Any = None) -> int:
        value = original(self, mesh_dim)
        if trace() is None or not _is_asked_by_program(2):
            return value
        return _watched(self.get_group(mesh_dim), value)

    return get_local_rank


def _get_coordinate(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_coordinate(self: Any) -> Any:
        values = original(self)
        if values is None or trace() is None or not _is_asked_by_program(2):
            return values
        return [_watched(self.get_group(number), value) for number, value in enumerate(values)]

    return get_coordinate


def note_group(name: str, ranks: Sequence[int], group: Any, timeout: float | None) -> None:
    """Torch has made a group, or another rank has: then `group` is not ours."""
    noted = trace()
    if noted is not None:
        own = [group.ours] if isinstance(group, MtdProcessGroup) else []
        noted.made([(f"torch/{name}", tuple(ranks))], own, timeout, "mtd", "")


def rank_of_world() -> int | None:
    """This rank as a number that notices comparisons, if it runs for others."""
    noted, here = trace(), world.place().world
    return None if noted is None or here is None else noted.number(here.rank, noted.tables[0])


def refuse_variable(key: Any) -> None:
    """The program has asked the environment for its rank."""
    noted = trace()
    if noted is None or key not in OF_RANK:
        return
    depth = 3  # the environment's own methods
    while sys._getframe(depth).f_globals.get("__name__", "") in READERS:
        if sys._getframe(depth).f_code.co_name == "__contains__":  # all ranks hear that it is there
            return
        depth += 1
    if _is_asked_by_program(depth + 1):
        noted.refuse(
            f"the program takes {key.decode()} from os.environ, where nobody sees what it is compared with (write "
            f'int(os.environ["{key.decode()}"]) in one expression of a script, or ask torch.distributed.get_rank())'
        )
