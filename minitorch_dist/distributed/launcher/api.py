"""An agent for a function (or a program) that is called from Python; torch's names.

    elastic_launch(LaunchConfig(1, 1, 4, rdzv_backend="c10d"), train)(epochs)   {rank: result}

Functions run in fresh interpreters, with any `start_method`, and travel as `spawn`'s do: by
name, or as source from a notebook.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import spawn
from typing import Any

from minitorch_dist.distributed import run
from minitorch_dist.distributed.elastic.agent.agent import ElasticAgent
from minitorch_dist.distributed.elastic.agent.job import SIGNALS, Job
from minitorch_dist.distributed.elastic.multiprocessing.logs import PREFIX, Wishes
from minitorch_dist.distributed.elastic.multiprocessing.workers import WorkerProgram
from minitorch_dist.distributed.elastic.rendezvous.places import StorePlace, is_here, parsed
from minitorch_dist.distributed.elastic.rendezvous.state import JobRules
from minitorch_dist.multiprocessing import sources
from transports import keeper


@dataclass
class LaunchConfig:
    """torch's fields. Without an endpoint the job is of this node alone."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Wishes | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    local_addr: str | None = None
    signals_to_handle: str = ",".join(SIGNALS)
    shutdown_timeout: int | None = None

    def job(self, program: WorkerProgram) -> Job:
        conf = {name: str(value) for name, value in self.rdzv_configs.items()}
        if self.rdzv_timeout != -1:
            conf["timeout"] = str(self.rdzv_timeout)
        if self.rdzv_backend not in run.BACKENDS:
            raise ValueError(
                f"rdzv_backend {self.rdzv_backend!r} is not offered; there are {run.BACKENDS}"
            )
        rank = int(conf.get("rank", 0)) if self.rdzv_backend == "static" else -1
        host, port = parsed(self.rdzv_endpoint or "localhost:0")
        keeps = rank == 0 if rank >= 0 else (True if port == 0 and is_here(host) else None)
        return Job(
            program, StorePlace(host, port, keeps),
            JobRules(self.min_nodes, self.max_nodes, self.max_restarts),
            workers=self.nproc_per_node,
            run_id=self.run_id or str(uuid.uuid4()),
            role=self.role,
            node_rank=rank,
            local_addr=self.local_addr,
            patience=run.patience_of(conf),
            monitor_interval=self.monitor_interval,
            wishes=self.logs_specs or Wishes(),
            signals=tuple(self.signals_to_handle.split(",")),
            shutdown_timeout=30.0 if self.shutdown_timeout is None else self.shutdown_timeout,
        )  # fmt: skip


class elastic_launch:
    """Call it with the arguments of `entrypoint`: a function, or a program's name."""

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))

    def __repr__(self) -> str:
        return f"<elastic_launch of {self._entrypoint!r}>"


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]
) -> dict[int, Any]:
    """The results of `entrypoint(*args)` on each rank of this node; ChildFailedError if a rank failed."""
    if isinstance(entrypoint, str):
        ElasticAgent(
            config.job(WorkerProgram("command", entrypoint, [str(each) for each in args]))
        ).run()
        return {}
    if entrypoint is None:
        raise ValueError("entrypoint is a function or a program's name, not None")
    with keeper.temporary_folder(PREFIX) as folder:
        path = folder / "function"
        ours = spawn.get_preparation_data("worker")
        del ours["authkey"]  # a secret of this process and its own children
        # first what an interpreter needs for the rest: where modules are, which main module
        path.write_bytes(
            pickle.dumps(ours) + pickle.dumps((sources.portable(entrypoint, args), args))
        )
        agent = ElasticAgent(config.job(WorkerProgram("function", str(path))))
        agent.run()
        return {rank: pickle.loads(said) for rank, said in sorted(agent.results.items())}
