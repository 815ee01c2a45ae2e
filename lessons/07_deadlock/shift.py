"""A ring shift, and the circle in which it can end.

    0 ──► 1 ──► 2 ──► 3         everybody gives a tensor to the right neighbour
    ▲                 │         and gets one from the left
    ╰─────────────────╯

Three kinds of sends, and you do not choose which one you get:

    eager        returns at once; the message lies somewhere until it is received
    bounded      returns while the receiver has room for it, else waits
    rendezvous   returns when the message is being received
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def shift(tensor):
    """The tensor of the left neighbour, while `tensor` goes to the right one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:
        return tensor.clone()
    left, right = (rank - 1) % size, (rank + 1) % size
    received = torch.empty_like(tensor)
    # BLANK 1: it works on a laptop and hangs on the cluster. Repair it (about 3 lines)
    # However many ranks there are: all have to send at the same time, not one after another.
    work = dist.isend(tensor, right)
    dist.recv(received, left)
    work.wait()
    # INSTEAD
    #| dist.send(tensor, right)
    #| dist.recv(received, left)
    # END
    return received


def find_circle(waits):
    """Ranks of which each waits for the next, and the last for the first; [] if there is no circle.

    `waits` says for every rank that is stuck which ranks it waits for: {0: [1], 1: [0, 2], 3: [0]}.
    """

    dead_ends = set()  # from here no path leads into a circle: all of them were tried
    for start in waits:
        path = [start]  # each waits for the next
        while path:
            # BLANK 2: whom does the last one wait for? Go there, or back, or return the circle (about 7 lines)
            # Look at no rank in `dead_ends` again. Do not call yourself: there may be 5,000 ranks.
            further = [rank for rank in waits.get(path[-1], []) if rank not in dead_ends]
            if not further:
                dead_ends.add(path.pop())
            elif further[0] in path:
                return path[path.index(further[0]) :]
            else:
                path.append(further[0])
            # END
    return []
