"""A machine takes the members that are there when it comes

The first one that joins sees nobody else, the last one sees all. Each divides the batch by another number. While nothing happens the first machine does all of the work, and the
weights are right.

Caught by: correct, death
Passes: in the library
"""

# BLANK 1: without waiting
if machine.now() >= self.settles:
    self.generation, self.settles = self.generation + 1, machine.now() + SETTLE
    self.members[self.generation] = set()
self.members[self.generation].add(machine.rank)
return self.generation, sorted(self.members[self.generation])
# END
