"""The warm-up is as long as the pipeline is deep, though there are fewer micro-batches

With short batches it asks for micro-batches that do not exist. In the real cases the run failed in its backward, or hung without
a message.
Caught by: exactly once, in the library
Seen: https://github.com/AMD-AGI/Primus/pull/1032
Seen: https://github.com/pytorch/torchtitan/issues/775
"""

# BLANK 1: the order
ahead = pipe.ranks - rank
order = [Action(rank, F, k) for k in range(ahead)]
for k in range(pipe.microbatches):
    order.append(Action(rank, B, k))
    if k + ahead < pipe.microbatches:
        order.append(Action(rank, F, k + ahead))
return order
# END
