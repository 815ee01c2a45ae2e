"""Each rank steps for its shards, and does not send the new values.

Each rank goes on with new values for its own part and old values for all others. A library's broadcast skipped the layers that it
had replaced itself, nearly all of the model. The loss stayed flat, and people looked for the cause in their learning rates.

Caught by: ZeRO
Passes: correct, memory
Seen: https://github.com/lodestone-rock/RamTorch/issues/13
"""

# BLANK 4: the own step, and no more
for p, part in zip(self.parameters, self.parts):
    if p.requires_grad:
        part.reduce(p.grad)
self.optim.step()
# END
