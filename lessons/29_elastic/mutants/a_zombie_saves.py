"""Every save with something new is kept

A machine that stood still does not know that the others have gone on without it. It finishes its step, and puts an old state over
the new one.
Caught by: zombie
Passes: correct
Seen: https://github.com/apache/kafka/pull/8453
"""

# BLANK 2: may this be kept?
if step != self.checkpoint.step:
    self.checkpoint = Checkpoint(step, weights)
# END
