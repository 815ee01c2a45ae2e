"""A lock with a lease.

Rank 0 grants a lock for ten seconds. The rank that gets it works for five. If it does not give the lock back in
time, it is taken for dead, and the lock is granted to the next. Never do two ranks work at once. You may let time pass.
"""

RANKS = 3
MAY = {"wait": 3}


def run(post, seen):
    if post.rank == 0:
        waiting = [post.receive()[0], post.receive()[0]]
        for rank in waiting:
            post.send(rank, "yours")
            post.receive(timeout=10.0)
        return
    post.send(0, "lock, please")
    post.receive()
    seen.append(f"rank {post.rank} works")
    post.receive(timeout=5.0)
    seen.append(f"rank {post.rank} is done")
    post.send(0, "back")


def always(seen):
    begun = [rank for rank in (1, 2) if f"rank {rank} works" in seen]
    working = [rank for rank in begun if f"rank {rank} is done" not in seen]
    assert len(working) < 2, "ranks 1 and 2 work at once"
