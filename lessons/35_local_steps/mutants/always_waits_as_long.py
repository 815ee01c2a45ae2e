"""Each quorum takes its whole patience, although all are there.

All is right, and each step takes half a second more.

Caught by: waiting
Passes: outer step, correct, quorum
"""

# BLANK 4: until it is time
if self.open is None:
    self.number += 1
    self.open, self.closes = Quorum(self.number, self.last, {}), machine.now() + patience
mine = self.open
mine.members[machine.rank] = (state.steps, state.version)
while self.open is mine and machine.now() < self.closes:
    machine.sleep(TICK)
if self.open is mine:
    self.open, self.last = None, {*mine.members}
return mine
# END
