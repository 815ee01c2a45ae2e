"""The plan of one rank for a schedule: which bytes go where, and what waits for what.

A schedule speaks of chunks; a plan of parts of arrays, in *segments* small enough that one can be
sent on while the next still arrives. It is made once for each schedule, rank and vector, from the
schedule's data alone:

    Post     a receive may be posted as soon as nothing that came before still needs the place it
             goes to; mostly that is long before its message, which then is never copied twice
    Send     needs the receives whose data it passes on, and no others

Nobody's message may fill the memory of a rank that is not ready for it. Where a large exchange sends
and receives the same chunks, both sides take turns by segments. Many large messages may have to be
added into the same chunk one after the other (at a tree's root). Then each is sent when its receiver
has asked for it: a *gate*, an empty message back.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from minitorch_dist.distributed.execution.chunks import Part


class PostReceive(NamedTuple):
    """Post receive `number`: the next segment of message `step` from `source`."""

    number: int
    source: int
    step: int
    into: tuple[Part, ...]
    operand: tuple[Part, ...]  # what it is added to; () where it is copied
    needs: tuple[int, ...]  # receives that must have arrived before
    opens: bool  # tell the sender that it may send


class SendSegment(NamedTuple):
    """Send one segment of message `step`."""

    to: int
    step: int
    parts: tuple[Part, ...]
    needs: tuple[int, ...]
    waits: bool  # for the receiver to ask for it


class LocalCopy(NamedTuple):
    """Copy or add a chunk of one's own."""

    into: tuple[Part, ...]
    of: tuple[Part, ...]
    operand: tuple[Part, ...]
    needs: tuple[int, ...]


Action: TypeAlias = PostReceive | SendSegment | LocalCopy


class ExecutionPlan(NamedTuple):
    """The actions of one rank in order, how many receives there are, and the arrays it needs."""

    actions: tuple[Action, ...]
    receives: int
    slots: tuple[int, ...]  # elements of each scratch slot
    borrows: bool = False  # ranks are threads: what is large is borrowed, and not sent (see `borrowing`)

    def posts(self) -> list[PostReceive]:
        """Its receives, by number."""
        posts = (action for action in self.actions if isinstance(action, PostReceive))
        return sorted(posts, key=lambda post: post.number)
