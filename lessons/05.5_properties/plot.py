# %% How long a failing mailbox is, while a shrinker leaves out what is not needed
import matplotlib.pyplot as plt
import numpy as np

draw = np.random.default_rng(5)
mailbox = [Message(draw.integers(RANKS), draw.integers(TAGS)) for _ in range(30)]
tried, kept = [], []


def two_alike(messages):
    """Fails for every mailbox in which two messages of rank 0 have the tag 0."""
    fails = sum((m.src, m.tag) == (0, 0) for m in messages) >= 2
    tried.append(len(messages))
    kept.append(fails)
    return fails


shrunk(mailbox, two_alike)
for fails, sign, name in [
    (True, "o", "fails: go on with it"),
    (False, "x", "passes: not this one"),
]:
    turns = [turn for turn, one in enumerate(kept) if one is fails]
    plt.plot(turns, [tried[turn] for turn in turns], sign, label=name)
plt.xlabel("list that was tried")
plt.ylabel("messages in it")
plt.legend()
plt.show()
