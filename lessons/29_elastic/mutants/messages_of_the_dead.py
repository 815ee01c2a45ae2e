"""Every message is taken, of whichever generation

A machine sent its share of a division by three, and died. The others now divide by two, and add this share to theirs. A message
that outlives a generation must carry the generation's number. In the real case there was none: a worker that was started again
took up the messages of the last run.
Caught by: death
Passes: correct, in the library
Seen: https://github.com/pytorch/pytorch/issues/82160
"""

# BLANK 4: what is to be done with this message?
self.got[message.step, message.sender] = message.gradient
# END
