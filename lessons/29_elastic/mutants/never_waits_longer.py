"""A machine waits as long in the hundredth generation as in the first

A slow machine is taken for dead, and comes to the next generation while it is still open. There it is taken for dead again. All live,
nobody is at fault, and no step is ever made.

Caught by: patience
Passes: correct, death, zombie, in the library
"""

# BLANK 5: no step was made since `before`?
continue
# END
