"""Scripts as users of PyTorch write them, which `mtd bench pytorch` gives to `mtd run`."""
