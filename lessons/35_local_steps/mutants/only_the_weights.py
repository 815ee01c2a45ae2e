"""A peer's weights are taken, and the optimizer's state stays one's own.

The gradients are the same from now on, and the steps are not: the weights drift apart. In a real trainer a machine that came back had the
learning rate of long ago.

Caught by: death, late
Passes: outer step, correct, bytes, quorum
Seen: https://github.com/pytorch/torchtitan/pull/4598
"""

# BLANK 5: without the velocity
if members[rank] < newest:
    return box.take(source, State)._replace(velocity=state.velocity)
if rank == source:
    for member, known in members.items():
        if known < newest:
            box.send(member, state)
return state
# END
