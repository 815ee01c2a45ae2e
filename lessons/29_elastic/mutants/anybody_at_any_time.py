"""A generation that never closes: a machine that comes late joins the one that is at work

The others have divided the batch already, and do not wait for its share. It waits for shares that were sent before it came.

Caught by: death
"""

# BLANK 1: one generation for ever
if not self.generation:
    self.generation, self.settles = 1, machine.now() + SETTLE
    self.members[self.generation] = set()
mine = self.generation
self.members[mine].add(machine.rank)
machine.sleep(max(0.0, self.settles - machine.now()))
return mine, sorted(self.members[mine])
# END
