"""Each retry takes a new number.

The callee would have known the request under its old number. Under a new number it is new work.

Caught by: at most once
Passes: correct, never stuck
Seen: https://github.com/cadence-workflow/cadence-java-client/pull/915
Seen: https://github.com/ydb-platform/nbs/issues/6886
"""

# BLANK 4: ask again, as somebody else
while not self.agent.drive(RETRY, self.is_done) and tries < TRIES:
    self.agent.open.pop(self.number)
    self.number = next(self.agent.numbers)
    self.agent.open[self.number] = self
    self.ask()
    tries += 1
# END
