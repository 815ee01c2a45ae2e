"""Averaging whole models from time to time, instead of gradients every time."""
