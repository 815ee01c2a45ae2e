"""All parameters of a unit are averaged, frozen ones too.

A frozen shard then has a gradient of zeros. Plain SGD does not notice it. AdamW's weight decay pulls the frozen
weights towards 0, step by step.

Caught by: average, frozen
Passes: correct, memory, bytes, fits
"""

# BLANK 6: without asking which are trained
for part in self.parts:
    part.reduce(part.window.grad)
    part.window.grad = None
self.free()
# END
