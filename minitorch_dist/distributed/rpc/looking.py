"""What can be seen of a worker's objects, references and calls."""

from __future__ import annotations

from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.distributed.rpc.references import book_of


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
