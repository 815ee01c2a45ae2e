"""Old messages are ignored, but an old machine is never told that it is old

Nothing wrong is ever kept. But a machine of an old generation goes on by itself, and two trainings run side by side. The result
is right, but the machine that came back is of no use.
Caught by: together
Passes: correct, death, zombie
"""

# BLANK 2: may this be kept?
if step == self.checkpoint.step + 1:
    self.checkpoint = Checkpoint(step, weights)
# END
# BLANK 4: what is to be done with this message?
if message.generation == self.generation:
    self.got[message.step, message.sender] = message.gradient
# END
