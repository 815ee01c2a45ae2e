"""Messages between ranks: any Python value, to one rank, from anybody, and not for ever.

    post = Post()
    post.send(1, ("add", 2, 3))
    post.receive(timeout=1.0)          (0, ("add", 2, 3)): who sent it, and what; None if nothing came
    post.leave()                       nobody goes before all are done

Lessons in which a rank does not know who speaks next stand on this. Messages of one sender come in order,
unless the run's faults say otherwise (`sim.Plan(…, reliable=False)`: lost, doubled, overtaken).
`sim.exhaust` tries every order in which messages of several senders can be taken.
"""

from __future__ import annotations

from typing import Any, Final

from minitorch_dist.distributed import point_to_point, world
from minitorch_dist.distributed.exceptions import DistTimeout
from minitorch_dist.distributed.groups import resolve
from minitorch_dist.distributed.torch_api import objects

KIND: Final = "send_object_list"
PATIENCE: Final = 100_000.0  # seconds, for those who are not done


class MessageBox:
    """One rank's mailbox."""

    def __init__(self) -> None:
        here = world.current()
        self.rank, self.size = here.rank, here.world_size
        self._group = resolve(None)
        self._store = here.store
        number = here.extras["posts"] = here.extras.get("posts", 0) + 1
        self._key = f"post {number}"

    def send(self, dst: int, message: Any) -> None:
        """It does not wait for `dst`, who may be this rank."""
        point_to_point.isend(self._group, objects.to_array(message), dst, 0, KIND).wait()

    def receive(self, timeout: float | None = None) -> tuple[int, Any] | None:
        """The next message and its sender; None if none came in `timeout` seconds."""
        try:
            work = point_to_point.irecv(self._group, None, None, 0, KIND)
            work.wait(timeout)
        except DistTimeout:
            return None
        return work.source_rank(), objects.from_bytes(work.octets)

    def leave(self) -> None:
        """Return when every rank wants to leave. This goes through the store, which loses nothing."""
        if self._store.add(self._key, 1) == self.size:
            self._store.set(f"{self._key} over", "")
        self._store.wait([f"{self._key} over"], PATIENCE)

    def __repr__(self) -> str:
        return f"<Post of rank {self.rank} of {self.size}>"


Post = MessageBox  # its name in lessons that were begun earlier
