"""A message of a later step is thrown away

A neighbour may be one step ahead. Its message comes early, once, and is not sent again.
Caught by: correct
"""

# BLANK 4: what is to be done with this letter?
if letter.generation > self.generation:
    raise Outdated("a new generation has begun without us")
if letter.generation == self.generation and letter.step == step:
    self.got[letter.step, letter.sender] = letter.gradient
# END
