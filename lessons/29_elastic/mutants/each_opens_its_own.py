"""Everybody who joins opens the next generation

Two machines that come at once make two generations. The first one is old before it begins, so its machine joins again and makes the
other one old.

Caught by: correct
"""

# BLANK 1: a new one for each
self.generation, self.settles = self.generation + 1, machine.now() + SETTLE
mine = self.generation
self.members[mine] = {machine.rank}
machine.sleep(SETTLE)
return mine, sorted(self.members[mine])
# END
