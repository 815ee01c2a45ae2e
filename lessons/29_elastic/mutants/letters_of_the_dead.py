"""A letter is a letter, of whichever generation

A machine that has died had sent its share of a division by three; those who are left divide by two, and add it up
with theirs. What outlives a generation must carry its number: where it did not, a worker that was started again took up what
the last run had left behind.
Caught by: death
Passes: right, in the library
Seen: https://github.com/pytorch/pytorch/issues/82160
"""

# BLANK 3: what is to be done with this letter?
self.got[letter.step, letter.sender] = letter.gradient
# END
