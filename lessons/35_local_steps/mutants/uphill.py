"""The change has the wrong sign.

A rank's way is a step already, and an optimizer goes against what it is given. So the outer step walks back, and further.

Caught by: correct, trains
Passes: outer step, bytes, quorum
"""

# BLANK 2: from kept to here
change = self.average(k, p.detach() - self.kept[k])
self.kept[k], self.velocity[k] = outer_step(
    self.kept[k], self.velocity[k], change, self.rate, self.momentum
)
p.data.copy_(self.kept[k])
# END
