"""All units that are whole at the end of backward are reduced, frozen ones too.

A frozen shard then has a gradient of zeros. Plain SGD does not notice it. AdamW's weight decay pulls the frozen
weights towards 0, step by step.

Caught by: frozen units
Passes: correct, memory, bytes, fits
"""

# BLANK 6: without looking whether it is due
if self.whole.untyped_storage().nbytes():
    self.reduce()
# END
