"""torch's address of `checkpoint_wrapper`."""
