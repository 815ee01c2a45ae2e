"""The outer weights are right, and nobody takes them.

Each rank goes on from its own weights. They drift apart, and the same way is counted in each later change once more.

Caught by: correct, trains
Passes: outer step, bytes, quorum
"""

# BLANK 2: without the last line
change = self.average(k, self.kept[k] - p.detach())
self.kept[k], self.velocity[k] = outer_step(
    self.kept[k], self.velocity[k], change, self.rate, self.momentum
)
# END
