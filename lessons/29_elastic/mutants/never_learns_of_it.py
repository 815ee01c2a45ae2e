"""What is old is ignored, but nobody is told that he is

Nothing wrong is ever kept. But whoever is of an old generation goes on by itself, and two trainings run side by side: right, and
the machine that came back is of no use.
Caught by: together
Passes: right, death, zombie
"""

# BLANK 1: may this be kept?
if step == self.checkpoint.step + 1:
    self.checkpoint = Checkpoint(step, weights)
# END
# BLANK 3: what is to be done with this letter?
if letter.generation == self.generation:
    self.got[letter.step, letter.sender] = letter.gradient
# END
