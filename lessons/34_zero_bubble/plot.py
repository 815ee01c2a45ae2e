# %% The time of 30 micro-batches on 4 stages, as messages take longer (on paper)
import matplotlib.pyplot as plt

from minitorch_dist.distributed.pipelining.orders import (
    B,
    Pipe,
    everyones,
    one_forward_one_backward,
)
from minitorch_dist.distributed.pipelining.timing import times

pipe, cost = Pipe(4, 30), {F: 4, B: 8, I: 4, W: 4}  # in quarters of a forward
quarters = range(13)
rows = {"1F1B": [], "zero bubble, made for free messages": [], "zero bubble": [], "the least": []}
for quarter in quarters:
    delay = quarter / 4
    makes = (
        one_forward_one_backward,
        zero_bubble,
        lambda rank, pipe, delay=delay: zero_bubble(rank, pipe, delay),
    )
    for name, make in zip(rows, makes):
        rows[name].append(times(everyones(make, pipe), pipe, cost, quarter).total / 4)
    rows["the least"].append(3 * 30 + 3 * (1 + delay))
for name, values in rows.items():
    plt.plot(
        [quarter / 4 for quarter in quarters],
        values,
        ":" if name == "the least" else "o-",
        label=name,
    )
plt.xlabel("a message takes so many forwards")
plt.ylabel("ms for a step; F, I and W take 1 ms")
plt.legend()
plt.show()

# %% The micro-batches that stage 0 must hold for it
for name, held in (
    ("zero bubble", lambda d: 1 + 3 * apart(d)),
    ("1F1B", lambda d: 1 + 3 * (1 + math.ceil(2 * d / 3))),
):
    plt.step(
        [quarter / 4 for quarter in quarters],
        [held(quarter / 4) for quarter in quarters],
        label=name,
    )
plt.xlabel("a message takes so many forwards")
plt.ylabel("micro-batches on stage 0 of 4")
plt.legend()
plt.show()
