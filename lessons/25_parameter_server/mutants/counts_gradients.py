"""Sync waits for as many gradients as there are workers here, without asking which worker they come from.

A worker that pushes its last gradient and leaves lowers the number. Its own gradient then counts for another's.

Caught by: fresh
Passes: never stuck
"""

# BLANK 3: so many are here, so many are needed
present = sum(clock < math.inf for clock in self.clocks)
if self.held and (self.staleness > 0 or len(self.held) >= present):
    self.step(self.values, [self.held[worker] for worker in sorted(self.held)])
    self.held = {}
# END
