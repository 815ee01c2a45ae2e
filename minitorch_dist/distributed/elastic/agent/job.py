"""A job as the command line describes it, and what each of its workers finds in its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from minitorch_dist.distributed.elastic.multiprocessing.workers import WorkerProgram
from minitorch_dist.distributed.elastic.rendezvous.membership import Patience
from minitorch_dist.distributed.elastic.rendezvous.places import StorePlace
from minitorch_dist.distributed.elastic.rendezvous.state import JobRules, JobState
from transports import job as jobs

SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")


@dataclass(frozen=True)
class Job:
    program: WorkerProgram
    place: StorePlace
    rules: JobRules
    workers: int = 1  # of this node
    run_id: str = "none"
    node_rank: int = -1
    local_addr: str | None = None
    patience: Patience = field(default_factory=Patience)
    monitor_interval: float = 0.1
    log_dir: str | None = None
    shutdown_timeout: float = 30.0
    transport: str = ""

    @property
    def script(self) -> str:
        """The name of its program."""
        is_file = self.program.kind in ("script", "command")
        return Path(self.program.target).name if is_file else self.program.target

    def namespace(self, generation: int | None = None) -> str:
        """The prefix of this job's keys in the store, or of one generation's workers."""
        job = f"jobs/{self.run_id}"
        return job if generation is None else f"{job}/worker/{generation}"


def environments(
    job: Job, state: JobState, node_id: str, address: str, port: int, drawn: str = ""
) -> list[Mapping[str, str]]:
    """The environment of this node's workers, by local rank. The names are torchrun's. `drawn` is what the
    agent says of the job (`transports.job`); its id, and not the name that two jobs may have, is in the keys."""
    drawn = drawn or jobs.draw(script=job.script, name=job.run_id)
    index = state.ids().index(node_id)
    first = sum(node.workers for node in state.nodes[:index])
    size = sum(node.workers for node in state.nodes)
    shared = {
        "GROUP_RANK": index,
        "GROUP_WORLD_SIZE": len(state.nodes),
        "ROLE_NAME": "default",
        "LOCAL_WORLD_SIZE": job.workers,
        "WORLD_SIZE": size,
        "ROLE_WORLD_SIZE": size,
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
        "TORCHELASTIC_RESTART_COUNT": state.restarts,
        "TORCHELASTIC_MAX_RESTARTS": state.rules.max_restarts,
        "TORCHELASTIC_RUN_ID": job.run_id,
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_SIGNALS_TO_HANDLE": ",".join(SIGNALS),
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", 1),
        # ours: where that store is, whatever a script does to MASTER_ADDR, and which keys are ours
        "MINITORCH_DIST_AGENT_STORE": f"{address} {port} {job.namespace(state.generation)}",
        "MINITORCH_DIST_GENERATION": f"{jobs.read(drawn)[-1].id}/{state.generation}",
        jobs.VARIABLE: drawn,
    }
    if job.transport:
        shared["MINITORCH_DIST_TRANSPORT"] = job.transport
    return [
        {name: str(value) for name, value in shared.items()}
        | {"LOCAL_RANK": f"{local}", "RANK": f"{first + local}", "ROLE_RANK": f"{first + local}"}
        for local in range(job.workers)
    ]
