"""Each tensor is counted with all its bytes, views too.

Caught by: memory, freed
Passes: counted
Seen: https://github.com/pytorch/pytorch/pull/60702
"""

# BLANK 2: every view is a new tensor
return Tensor(array, self.storage.category)
# END
