"""What looks like a view is taken for one, but numpy had to copy: those bytes are in no book.

Caught by: counted
Passes: memory, freed, right
"""

# BLANK 2: every window shows our bytes
return Tensor(array, self.storage.category, self.storage)
# END
