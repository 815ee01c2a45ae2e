"""Each machine that asks begins at once.

Machines that come a moment later are in the next quorum. So they never meet.

Caught by: quorum
Passes: outer step, correct, bytes
"""

# BLANK 4: a quorum of one
self.number += 1
self.last, before = {machine.rank}, self.last
return Quorum(self.number, before, {machine.rank: (state.steps, state.version)})
# END
