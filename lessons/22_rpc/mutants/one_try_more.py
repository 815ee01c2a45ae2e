"""TRIES more requests, and not TRIES of them.

The first request goes out before `wait` begins, and is not counted. Where each try costs (a payment, a minute of waiting), one more than
was allowed matters. Nobody waits for the answer to the last one, either.

Caught by: never stuck
Passes: correct, at most once, answered
"""

# BLANK 4: so many times
for _ in range(TRIES):
    if self.agent.drive(RETRY, self.is_done):
        break
    self.ask()
# END
