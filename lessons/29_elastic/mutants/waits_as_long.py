"""Each machine waits for SETTLE seconds

A machine that comes later waits longer than the first one, which begins without it, and gives it up. Training ends right, but a
generation is lost each time.

Caught by: correct
Passes: together, in the library
"""

# BLANK 1: as long as the first one
if machine.now() >= self.settles:
    self.generation, self.settles = self.generation + 1, machine.now() + SETTLE
    self.members[self.generation] = set()
mine = self.generation
self.members[mine].add(machine.rank)
machine.sleep(SETTLE)
return mine, sorted(self.members[mine])
# END
