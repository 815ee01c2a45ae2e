"""A collective of one's own under real PyTorch: a variable names a function of this library's tensors, or a schedule.

    MTD_ALL_REDUCE=ring.py:all_reduce torchrun --nproc-per-node 3 train.py

    MTD_ALL_REDUCE       all_reduce(tensor, op)               as in lessons 13 and 14
    MTD_BROADCAST        broadcast(tensor, src)               as in lesson 11
    MTD_ALL_GATHER       all_gather(output, tensor)
    MTD_REDUCE_SCATTER   reduce_scatter(output, tensor, op)

Groups of all ranks call it in place of ours. It sends and receives by `minitorch_dist.distributed`. Its tensors share
the memory of PyTorch's, and its messages never meet those of the program. A generator of steps, or what
`register_schedule` made, is a schedule: it is proved first.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from minitorch_dist.distributed import world
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import ProcessGroup as OurGroup
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import NOW, How
from minitorch_dist.distributed.reduce_op import RedOpType
from minitorch_dist.distributed.schedules.choice import register_schedule
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.work import Work
from minitorch_dist.distributed.world import WorldScope
from minitorch_dist.tensors.makers.creation import from_numpy

Act = Callable[..., Work | None]
# Where a function adds up, it may be asked for these; an average is a sum that is divided.
_OPS: Final = {name: RedOpType["SUM" if name == "AVG" else name] for name in ("SUM", "AVG", "PRODUCT", "MAX", "MIN")}


def in_place_of(
    usual: Act, collective: str, group: OurGroup, arrays: list[Array], op: Any = None, src: int | None = None
) -> Act:
    """`usual`, or what the variable of this collective names. `arrays[0]` is written."""
    address = os.environ.get(f"MTD_{collective.upper()}")
    if not address or group.size() != group.world.world_size:
        return usual
    own = _named(collective, address)
    if isinstance(own, Schedule):
        return lambda how=NOW: usual(how=how._replace(algorithm=own))
    return partial(_begin, own, collective, address, group, arrays, op, src)


def _begin(
    own: Callable[..., Any],
    collective: str,
    address: str,
    group: OurGroup,
    arrays: list[Array],
    op: Any,
    src: int | None,
    how: How = NOW,
) -> Work | None:
    arguments: list[Any] = [from_numpy(array) for array in arrays]
    kind = "none"
    if op is not None:
        kind = op.op.name
        arguments.append(_op(kind, address))
    if src is not None:
        arguments.append(src)

    def body(operation: CollectiveOperation) -> None:
        with world.StandingIn(_apart(group)):
            own(*arguments)
        if kind == "AVG":
            arrays[0][...] = arrays[0] / group.size()
        if how.written is not None:
            how.written()

    what = Fingerprint(
        collective, arrays[-1].dtype, arrays[-1].shape, kind.lower(), -1 if src is None else src, address
    )
    return group.run(what, body, how.asynchronous, how.output, how.timeout)


def _op(kind: str, address: str) -> RedOpType:
    if kind not in _OPS:
        raise RuntimeError(f"{address} is called for {', '.join(_OPS)}, and the program asks for {kind}")
    return _OPS[kind]


def _apart(group: OurGroup) -> WorldScope:
    """The place of this rank, whose default group is another one of the same ranks: its messages are its own."""
    here = world.place()
    if "world of own collectives" not in here.given:
        inner = copy.copy(group.world)
        name = f"own collectives of {group.group_name}"
        inner.default_group = OurGroup(group.world, name, group.ranks, group.timeout, "mtd", "own collectives")
        here.given["world of own collectives"] = inner
    scope = WorldScope(here.clock)
    scope.given, scope.world = here.given, here.given["world of own collectives"]
    return scope


# ------------------------------------------------------------------------------- which function


@cache
def _named(collective: str, address: str) -> Any:
    """The function or the schedule of `file.py:name` or `module:name`."""
    where, _, name = address.rpartition(":")
    variable = f"MTD_{collective.upper()}={address}"
    if not where or not name:
        raise ValueError(f"{variable}: name a function, as in ring.py:{collective} or package.module:{collective}")
    own = getattr(_module(where, variable), name, None)
    if not callable(own) and not isinstance(own, Schedule):
        raise ValueError(f"{variable}: {where} has no function {name!r}")
    if inspect.isgeneratorfunction(own):
        return register_schedule(collective, address)(own)
    return own


def _module(where: str, variable: str) -> Any:
    try:
        if not where.endswith(".py"):
            return importlib.import_module(where)
        file = Path(where).resolve()
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None or not file.is_file():
            raise ImportError(f"there is no file {file}")
        made = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    except ImportError as error:
        raise ValueError(f"{variable}: {error}") from error
    return made
