"""After a restart the last step is done again

The checkpoint says which batch was applied last, and the trainer takes it for the next one to apply. Each restart trains twice on
the same samples, and nothing looks wrong.
Caught by: death, in the library
Passes: correct
Seen: https://github.com/thinking-machines-lab/tinker-cookbook/issues/935
Seen: https://github.com/Lightning-AI/pytorch-lightning/issues/19815
"""

# BLANK 3: none may be left out, and none applied twice
return max(checkpoint.step, 0)
# END
