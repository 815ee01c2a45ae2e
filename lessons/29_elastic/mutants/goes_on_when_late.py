"""A message of a newer generation is thrown away, like one of an older generation

It says that others have gone on without this machine. A machine that does not listen waits for messages that nobody sends any more.

Caught by: together
Passes: correct
"""

# BLANK 4: what is to be done with this message?
if message.generation == self.generation:
    self.got[message.step, message.sender] = message.gradient
# END
