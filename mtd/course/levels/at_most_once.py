"""Numbered questions, remembered answers.

Rank 1 lets rank 0 add, and asks again if no answer comes within a second. But each question has a number, and
rank 0 does nothing but answer where it knows the number. Both additions should be in the balance once: 12.
You may lose one message, and let one come twice.
"""

RANKS = 2
MAY = {"drop": 1, "duplicate": 1}


def run(post, seen):
    if post.rank == 1:
        for number, amount in enumerate((5, 7)):
            while True:
                post.send(0, (number, amount))
                if answered(post, number):
                    break
        return None
    balance, known = 0, set()
    while message := post.receive(timeout=9.0):
        number, amount = message[1]
        if number not in known:
            known.add(number)
            balance += amount
        post.send(1, number)
    return balance


def answered(post, number):
    """Whether the answer to this very question has come within a second."""
    while message := post.receive(timeout=1.0):
        if message[1] == number:
            return True
    return False


def at_the_end(results):
    assert results[0] == 12, f"5 and 7 were added, and the balance is {results[0]}"
