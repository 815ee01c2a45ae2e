"""Momentum, but not Nesterov's.

It trains nearly as well. But the paper's numbers, and torch's `nesterov=True`, are another step: the new velocity counts once more.

Caught by: outer step, correct
Passes: bytes, nothing is lost, quorum
"""

# BLANK 1: heavy ball
velocity = momentum * velocity + change
return weights - rate * velocity, velocity
# END
