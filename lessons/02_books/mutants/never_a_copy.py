"""Each new array is taken for a view, but sometimes numpy had to copy: those bytes are in no book.

Caught by: counted
Passes: memory, freed, places
"""

# BLANK 2: every window shows our bytes
return Tensor(array, self.storage.category, self.storage)
# END
