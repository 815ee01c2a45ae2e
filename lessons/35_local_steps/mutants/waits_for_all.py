"""The quorum waits until all of the last one are there.

One machine that does not come back is enough, and training stands still for ever.

Caught by: death
Passes: outer step, correct, bytes, quorum
"""

# BLANK 4: however long it takes
if self.open is None:
    self.number += 1
    self.open = Quorum(self.number, self.last, {})
mine = self.open
mine.members[machine.rank] = (state.steps, state.version)
while self.open is mine and mine.expected - {*mine.members}:
    machine.sleep(TICK)
if self.open is mine:
    self.open, self.last = None, {*mine.members}
return mine
# END
