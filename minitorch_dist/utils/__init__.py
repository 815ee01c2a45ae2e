"""What stands beside the layers: activation checkpointing, and data loading."""
