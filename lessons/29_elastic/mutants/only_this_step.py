"""A message of a later step is thrown away

A neighbour may be one step ahead. Its message comes early, once, and is not sent again.
Caught by: correct
"""

# BLANK 4: what is to be done with this message?
if message.generation > self.generation:
    raise Outdated("a new generation has begun without us")
if message.generation == self.generation and message.step == step:
    self.got[message.step, message.sender] = message.gradient
# END
