"""Axes are aligned at the left: a row of three becomes a column, or goes where nothing lies.

Where both shapes have as many axes, it is right.

Caught by: strides
Passes: shapes, sum_to, plugged in
Seen: https://github.com/jax-ml/jax/issues/39998
Seen: https://github.com/dlsyscourse/hw1/pull/9
"""

# BLANK 5: the missing axes are put behind
missing = len(larger) - len(shape)
sizes = tuple(shape) + (1,) * missing
kept = tuple(strides) + (0,) * missing
return tuple(
    step if size == wanted else 0 for size, step, wanted in zip(sizes, kept, larger, strict=True)
)
# END
