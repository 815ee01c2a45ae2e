"""No answer? Ask again.

Rank 1 lets rank 0 add 5 to its balance, and asks again if no answer comes within a second. The balance
should be 5 in the end. You may lose one message, and let time pass.
"""

RANKS = 2
MAY = {"drop": 1, "wait": 2}


def run(post, seen):
    if post.rank == 1:
        for _ in range(3):
            post.send(0, ("add", 5))
            if post.receive(timeout=1.0):
                break
        return None
    balance = 0
    while message := post.receive(timeout=9.0):
        balance += message[1][1]
        post.send(1, "added")
    return balance


def at_the_end(results):
    assert results[0] == 5, f"5 was added, and the balance is {results[0]}"
