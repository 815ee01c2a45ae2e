"""Ask once. What is asked once is carried out at most once.

Caught by: answered
Passes: right, at most once, never stuck
"""

# BLANK 4: wait, for long enough
self.agent.drive(TRIES * RETRY, self.is_done)
# END
