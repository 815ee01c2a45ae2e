"""The last request is sent, and nobody waits for its answer.

The number of tries is compared first, so the loop ends as soon as the last request is out.

Caught by: never stuck
Passes: correct, at most once, answered
"""

# BLANK 4: until TRIES is reached
while tries < TRIES and not self.agent.drive(RETRY, self.is_done):
    self.ask()
    tries += 1
# END
