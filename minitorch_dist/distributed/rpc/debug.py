"""Look at a worker's objects, references and calls."""

from __future__ import annotations

from minitorch_dist.distributed.rpc.agent import RpcAgent, current, is_here
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.rref_context import context_of


def debug_rrefs() -> list[str]:
    """One line for each object of this worker that is held, and one for each fork that it holds.

    A line names the object, its holders, and the line of the program that made it.
    """
    context = context_of(current())
    context.release_dropped_refs()
    ours = [repr(entry) for entry in list(context.owned.values())]
    theirs = [
        f"{fork!r}{f', created at {fork.site}' if fork.site else ''}"
        for fork in list(context.forks.values())
    ]
    return ours + theirs


def _rref_context_get_debug_info() -> dict[str, str]:
    """The counts that torch gives."""
    context = context_of(current())
    context.release_dropped_refs()
    owned = list(context.owned.values())
    return {
        "num_owner_rrefs": str(len(owned)),
        "num_pending_futures": str(sum(not entry.future.done() for entry in owned)),
        "num_pending_users": str(sum(not fork.confirmed for fork in list(context.forks.values()))),
        "num_forks": str(sum(len(entry.forks) for entry in owned)),
    }


def _get_debug_info() -> dict[str, str]:
    agent = current()
    return {
        **_rref_context_get_debug_info(),
        "agent.num_pending_requests": str(len(agent.caller.of_users())),
        "agent.thread_pool_size": str(agent.pool.size),
        "agent.num_running_functions": str(agent.pool.running),
        "agent.num_waiting_functions": str(agent.pool.waiting),
    }


class TensorPipeAgent:
    """An agent, with the methods that torch shows of one."""

    def __init__(self, agent: RpcAgent) -> None:
        self._agent = agent

    def get_worker_info(self, worker: str | int | None = None) -> WorkerInfo:
        return self._agent.me if worker is None else self._agent.workers.find(worker)

    def get_worker_infos(self) -> list[WorkerInfo]:
        return list(self._agent.workers.by_id.values())

    def get_debug_info(self) -> dict[str, str]:
        """The counts of torch that have a meaning here."""
        pool = self._agent.pool
        return {
            "agent.client_active_calls": str(len(self._agent.caller.of_users())),
            "agent.server_active_calls": str(pool.running + pool.waiting),
            "agent.num_idle_threads": str(max(0, pool.size - pool.running)),
            "agent.thread_pool_size": str(pool.size),
        }

    get_metrics = get_debug_info

    @property
    def is_static_group(self) -> bool:
        return not self._agent.is_growing

    def __repr__(self) -> str:
        return f"<TensorPipeAgent of {self._agent!r}>"


def _get_current_rpc_agent() -> TensorPipeAgent:
    return TensorPipeAgent(current())


def _is_current_rpc_agent_set() -> bool:
    return is_here()
