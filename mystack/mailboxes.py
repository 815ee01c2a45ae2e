"""Ranks that know only their number, and can only send and receive: a small torch.distributed.

rank 0                                                             rank 1
send(x, dst=1, tag=7) ──▶ under way, in order ──▶ mailbox ──▶ recv(y, src=0, tag=7)
                          for each pair of ranks              takes the oldest that matches
"""

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)  # two messages are never the same one, whatever is in them
class Message:
    src: int
    tag: int
    tensor: Any


world = None  # the one that is running


def get_rank():
    """The number of the rank that asks."""
    return world.running


def get_world_size():
    """How many ranks there are."""
    return world.size


def send(tensor, dst, tag=0):
    """Put a copy of the tensor on its way. Returns at once: nobody waits until it has arrived."""
    if not 0 <= dst < world.size:
        raise ValueError(f"there is no rank {dst} in a world of {world.size}")
    world.under_way[world.running, dst].append(Message(world.running, tag, tensor.clone()))
    world.journal.append(("sends", world.running, dst, tag))
    world.hand_on()


def recv(tensor, src=None, tag=0):
    """Wait for a message with this tag from rank `src`
    (None: from anybody); copy the oldest into `tensor`.

    Messages that do not match stay where they are. Returns the rank that sent it.
    """
    mailbox = world.mailboxes[world.running]
    world.asks[world.running] = f"tag {tag} from {'anybody' if src is None else f'rank {src}'}"
    while not (matching := [m for m in mailbox if m.tag == tag and src in (None, m.src)]):
        world.wait()
    message = matching[0]
    mailbox.remove(message)
    world.journal.append(("receives", message.src, world.running, message.tag))
    tensor.copy_(message.tensor)
    return message.src
