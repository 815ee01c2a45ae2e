"""Real PyTorch programs on simulated ranks: threads of this process, in virtual time.

    sim.run(program, 64)          `program` uses torch, so this attaches by itself
    mtd run --ranks 64 train.py

Each rank has here for itself, as a process has:

    init_process_group            any backend's name: its group is ours, on the simulated network
    torch.distributed's state     its default group, its names of groups, its store
    torch.manual_seed, rand …     the default generator
    os.environ                    RANK, WORLD_SIZE, MASTER_ADDR … as torchrun sets them
    torch.cuda.set_device         makes cuda a label for the CPU (see `cuda_labels`)
    autograd                      runs in the rank's own thread

All is put back when the run is over. Torch keeps much of its state by thread, so ranks have to be threads.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NoReturn, TypeVar

import torch
import torch.distributed as torch_dist
import torch.distributed.nn  # before any rank: its functions keep the default group that they find as they are made
from torch.distributed import distributed_c10d as c10d

import minitorch_dist.pytorch  # noqa: F401 - registers the backend
from minitorch_dist.distributed import world
from minitorch_dist.launching import chance, rank_environment
from minitorch_dist.pytorch import (
    any_backend,
    cuda_labels,
    device_queue,
    folding,
    gpu_kernels,
    loader_workers,
    shapes,
    spawned_ranks,
    storages,
    virtual_futures,
    watching,
)
from minitorch_dist.pytorch.operation_time import TimedOperations
from minitorch_dist.pytorch.rank_modules import RankModules
from minitorch_dist.pytorch.replacing import replaced, replaced_everywhere
from minitorch_dist.pytorch.virtual_store import VirtualStore
from minitorch_dist.sim import device_time
from minitorch_dist.sim.attachments import OneOfItsKind, RunPart
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.tensors import ledger, pools

T = TypeVar("T")


@dataclass(frozen=True)
class WithPyTorch(OneOfItsKind):
    """The program is PyTorch's."""

    kind = "pytorch"

    def __call__(self, stage: SimulationStage) -> RunPart:
        return PyTorchPart(stage)


TRIED: Final = (2, 13)  # the first version of torch with which all of this was tried


class PyTorchPart(RunPart):
    def __init__(self, stage: SimulationStage) -> None:
        if _version() < TRIED:
            warnings.warn(
                f"simulated ranks were tried with PyTorch 2.13, and this is {torch.__version__}: with 2.10 PyTorch crashes in the "
                "second run with DTensors (fully_shard) of one process. Take torch>=2.13, or a new process for each run",
                RuntimeWarning,
                stacklevel=2,
            )
        self.clock, self.world_size, self.stage = stage.clock, stage.world_size, stage
        self.modules = RankModules()
        if self.clock.engine != "threads":
            raise ValueError(
                f"the program uses PyTorch, which keeps its state by thread: engine={self.clock.engine!r} does not do. "
                "Leave engine= out, or say engine='threads' for messages one by one"
            )

    @contextmanager
    def around_run(self) -> Iterator[None]:
        generator = torch.default_generator
        begin, threads, hook = generator.get_state(), torch.get_num_threads(), sys.excepthook
        with ExitStack() as around:
            around.enter_context(replaced(c10d, "_world", RankWorlds()))
            around.enter_context(replaced(c10d, "rendezvous", _rendezvous))
            around.enter_context(replaced(c10d, "_new_process_group_helper", _noted_group))
            for module in (c10d, torch_dist):
                around.enter_context(replaced(module, "split_group", _split_group))
            reducer = torch_dist.Reducer  # in `Join` a rank that is done answers the sums of the others
            around.enter_context(replaced(reducer, "_run_comm_hook", virtual_futures.finishing(reducer._run_comm_hook)))
            # Torch warns where a build for the CPU is asked for the timeout of nccl.
            around.enter_context(replaced(c10d, "default_pg_nccl_timeout", timedelta(minutes=10)))
            around.enter_context(rank_environment.RankEnvironment(folding.refuse_variable).in_place())
            around.enter_context(cuda_labels.in_place())
            around.enter_context(folding.in_place())
            if self.stage.has_shapes:
                around.enter_context(shapes.around_run())
            around.enter_context(watching.around_run())
            around.enter_context(storages.around_run())
            if device_time.of(self.clock) is not None:
                around.enter_context(gpu_kernels.in_place(self.stage.has_shapes))
            if self._works_beside():
                around.enter_context(device_queue.around_run())
            if torch_dist.rpc.is_available():
                around.enter_context(replaced_everywhere(torch_dist.rpc.init_rpc, _no_rpc))
            torch._C._distributed_c10d._set_thread_isolation_mode(True)
            torch.set_num_threads(1)
            around.enter_context(loader_workers.in_place())
            around.enter_context(spawned_ranks.in_place())
            around.enter_context(self.modules.in_place())
            self.clock.exchanged = self._set_aside
            try:
                yield
            finally:
                self.clock.exchanged = None
                torch.set_num_threads(threads)
                torch._C._distributed_c10d._set_thread_isolation_mode(False)
                generator.set_state(begin)
                sys.excepthook = hook

    def _works_beside(self) -> bool:
        """Whether a rank's device works beside its program, as a GPU does. With numbers the program would need them."""
        return self.stage.has_shapes and device_time.of(self.clock) is not None

    def called(self, function: Callable[[], T]) -> Callable[[], T]:
        def program() -> T:
            with nullcontext() if self.stage.is_recorded else self._around_program():
                return function()

        return program

    @contextmanager
    def _around_program(self) -> Iterator[None]:
        """Also before a program that runs once more (see `folding`)."""
        _forget_groups()
        self.modules.begin()
        with ExitStack() as around:
            if self._works_beside():
                around.enter_context(device_queue.around_program())
            if pools.count():
                around.enter_context(storages.around_program(ledger.of("cuda")))
            yield

    @contextmanager
    def around_rank(self, rank: int) -> Iterator[None]:
        given = world.place().given
        given["environment"] = rank_environment.of_torchrun(rank, self.world_size)
        given["around program"] = self._around_program
        torch.default_generator.manual_seed(chance.seed_for("torch"))
        self.modules.begin()
        with torch.autograd.set_multithreading_enabled(False), ExitStack() as modes:
            if self.stage.has_shapes:
                modes.enter_context(shapes.around_rank())
            devices = device_time.of(self.clock)
            if devices is not None:
                cuda_labels.enter()
                modes.enter_context(TimedOperations(devices, rank))
            try:
                yield
            finally:
                cuda_labels.leave()
                _forget_groups()

    def _set_aside(self) -> Callable[[], None]:
        """Keep what the rank that stops has in this process; the result puts it back."""
        generator, modules = _own_generator(), self.modules.set_aside()

        def put_back() -> None:
            generator()
            modules()

        return put_back


def _version() -> tuple[int, ...]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def _forget_groups() -> None:
    """At the end of a program, or before it runs once more (see `folding`)."""
    if world.place().given.pop("torch", None) is not None:
        c10d._unregister_all_process_groups()


def _own_generator() -> Callable[[], None]:
    """The default generator's state of the rank that stops; the result puts it back."""
    generator = torch.default_generator
    state = generator.get_state()
    return lambda: generator.set_state(state) and None


# ----------------------------------------------------------------------- torch.distributed's state


@dataclass
class TorchWorld:
    """The fields of torch's `_World`, of one rank."""

    default_pg: Any = None
    pg_map: dict[Any, Any] = field(default_factory=dict)
    pg_names: dict[Any, Any] = field(default_factory=dict)
    pg_group_ranks: dict[Any, Any] = field(default_factory=dict)
    pg_backend_config: dict[Any, Any] = field(default_factory=dict)
    group_count: int = 0
    tags_to_pg: dict[str, list[Any]] = field(default_factory=dict)
    pg_to_tag: dict[Any, str] = field(default_factory=dict)
    pg_coalesce_state: dict[Any, Any] = field(default_factory=dict)
    comms: list[Any] = field(default_factory=list)


class RankWorlds(c10d._World):
    """Torch's `_world`, which torch lets others override: each rank sees its own."""

    def __getattribute__(self, name: str) -> Any:
        return getattr(_of_this_rank(), name) if name in _FIELDS else super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIELDS:
            setattr(_of_this_rank(), name, value)
        else:
            super().__setattr__(name, value)


_FIELDS: Final = frozenset(TorchWorld.__dataclass_fields__)


def _of_this_rank() -> TorchWorld:
    given = world.place().given
    found = given.get("torch")
    if found is None:
        found = given["torch"] = TorchWorld()
    return found


def _noted_group(
    size: int, rank: int, ranks: Any, backend: Any, store: Any, name: Any, *, timeout: Any, **options: Any
) -> Any:
    """A group of ours, of which `folding` knows."""
    group, prefix = any_backend.on_ours(size, rank, ranks, backend, store, name, timeout=timeout, **options)
    if ranks:
        folding.note_group(name, ranks, group, timeout.total_seconds())
    return group, prefix


def _split_group(
    parent_pg: Any = None,
    split_ranks: Any = None,
    timeout: Any = None,
    pg_options: Any = None,
    group_desc: Any = None,
    **others: Any,
) -> Any:
    """Torch's function asks for a GPU first. The part with this rank becomes a group; no other rank is needed for it."""
    parent = torch_dist.get_process_group_ranks(parent_pg or torch_dist.group.WORLD)
    alone, made = folding.trace() is None, None  # one that runs for others needs to know of their parts, too
    for part in split_ranks or ():
        ranks = [parent[rank] for rank in part]
        is_own = torch_dist.get_rank() in ranks
        if is_own or not alone:
            group = torch_dist.new_group(ranks, timeout, use_local_synchronization=alone, group_desc=group_desc)
            made = group if is_own else made
    return made


def _rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Any, int, int]]:
    """The ranks of the run have met already, however the program asks for it."""
    given = world.place().given
    store = VirtualStore(given["store"])
    store.set_timeout(kwargs.get("timeout", timedelta(minutes=30)))
    # Torch keeps the C++ part alone, which finds no methods then.
    given.setdefault("stores of torch", []).append(store)
    yield store, given["rank"], given["world_size"]


def _no_rpc(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "torch.distributed.rpc sends by TensorPipe, in C++ and in real time, so simulated ranks cannot use it. Run the script as "
        "processes (torchrun, or mtd run --net tcp), or write `import minitorch_dist as torch`, whose RPC runs here"
    )
