"""Two votes are enough.

Rank 0 asks the others whether to go. It goes when two have said yes, so two ranks must have said it. Rank 1
says no. You may let one message come twice.
"""

RANKS = 4
MAY = {"duplicate": 1}


def run(post, seen):
    if post.rank:
        answer = "no" if post.rank == 1 else "yes"
        if answer == "yes":
            seen.append(f"rank {post.rank} says yes")
        post.send(0, answer)
        return None
    yes = no = 0
    while yes < 2 and no < 2:
        _, answer = post.receive()
        yes, no = yes + (answer == "yes"), no + (answer == "no")
    return "go" if yes == 2 else "stay"


def at_the_end(results):
    assert results[0] == "go", "two ranks said yes and one said no, and rank 0 stays"
