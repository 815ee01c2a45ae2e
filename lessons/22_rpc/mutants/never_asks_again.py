"""The caller asks once. So the request is carried out at most once, but a lost message is never repeated.

Caught by: answered, never stuck
Passes: correct, at most once
"""

# BLANK 4: wait, for long enough
self.agent.drive(TRIES * RETRY, self.is_done)
# END
