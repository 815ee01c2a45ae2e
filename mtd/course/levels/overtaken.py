"""Who has it? Nobody? Then it goes.

Rank 0 owns an object and counts who holds it. Rank 1 holds it, passes it on to rank 2, and lets go of it. Each
tells the owner: rank 2 that it holds it, rank 1 that it does not any more. Nobody may hold what is gone.
"""

RANKS = 3


def run(post, seen):
    if post.rank == 0:
        holders = {1}
        for _ in range(3):
            who, word = post.receive()
            holders = holders | {who} if word == "mine" else holders - {who}
            if not holders:
                seen.append("gone")
                return
    elif post.rank == 1:
        post.send(2, "take it")
        post.send(0, "not mine")
    else:
        post.receive()
        seen.append("rank 2 holds it")
        post.send(0, "mine")
        post.receive(timeout=5.0)  # uses it for a while
        seen.append("rank 2 is done")
        post.send(0, "not mine")


def always(seen):
    if "gone" in seen and "rank 2 holds it" in seen and "rank 2 is done" not in seen:
        raise AssertionError("rank 2 holds an object that its owner has thrown away")
