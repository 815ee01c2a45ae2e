"""First come, first joined.

Rank 0 joins the words of all ranks to a sentence. It should be "ape bee cow", in the order of the ranks.
"""

RANKS = 3
WORDS = ("ape", "bee", "cow")


def run(post, seen):
    if post.rank:
        post.send(0, WORDS[post.rank])
        return None
    sentence = [WORDS[0]]
    for _ in range(post.size - 1):
        _, word = post.receive()
        sentence.append(word)
    return " ".join(sentence)


def at_the_end(results):
    assert results[0] == "ape bee cow", f"the sentence is {results[0]!r}"
