"""What can be seen of a worker's objects, references and calls."""

from __future__ import annotations

from minitorch_dist.distributed.rpc.agent import Agent, current, is_here
from minitorch_dist.distributed.rpc.references import book_of
from minitorch_dist.distributed.rpc.workers import WorkerInfo


def debug_rrefs() -> list[str]:
    """One line for each object of this worker that somebody holds: what, who, and where it was made;
    and one for each object of others that is held here."""
    book = book_of(current())
    book.sweep()
    ours = [repr(entry) for entry in list(book.owned.values())]
    theirs = [
        f"{fork!r}{f', created at {fork.site}' if fork.site else ''}"
        for fork in list(book.forks.values())
    ]
    return ours + theirs


def _rref_context_get_debug_info() -> dict[str, str]:
    """torch's counts."""
    book = book_of(current())
    book.sweep()
    owned = list(book.owned.values())
    return {
        "num_owner_rrefs": str(len(owned)),
        "num_pending_futures": str(sum(not entry.future.done() for entry in owned)),
        "num_pending_users": str(sum(not fork.confirmed for fork in list(book.forks.values()))),
        "num_forks": str(sum(len(entry.forks) for entry in owned)),
    }


def _get_debug_info() -> dict[str, str]:
    agent = current()
    return {
        **_rref_context_get_debug_info(),
        "agent.num_pending_requests": str(len(agent.caller.of_users())),
        "agent.thread_pool_size": str(agent.crew.size),
        "agent.num_running_functions": str(agent.crew.running),
        "agent.num_waiting_functions": str(agent.crew.waiting),
    }


class TensorPipeAgent:
    """What torch shows of an agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def get_worker_info(self, worker: str | int | None = None) -> WorkerInfo:
        return self._agent.me if worker is None else self._agent.workers.find(worker)

    def get_worker_infos(self) -> list[WorkerInfo]:
        return list(self._agent.workers.by_id.values())

    def get_debug_info(self) -> dict[str, str]:
        """torch's counts, as far as there are such things here."""
        crew = self._agent.crew
        return {
            "agent.client_active_calls": str(len(self._agent.caller.of_users())),
            "agent.server_active_calls": str(crew.running + crew.waiting),
            "agent.num_idle_threads": str(max(0, crew.size - crew.running)),
            "agent.thread_pool_size": str(crew.size),
        }

    get_metrics = get_debug_info

    @property
    def is_static_group(self) -> bool:
        return not self._agent.is_growing

    def __repr__(self) -> str:
        return f"<TensorPipeAgent, which shows {self._agent!r}>"


def _get_current_rpc_agent() -> TensorPipeAgent:
    return TensorPipeAgent(current())


def _is_current_rpc_agent_set() -> bool:
    return is_here()
