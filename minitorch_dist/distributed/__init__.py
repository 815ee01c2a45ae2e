"""PyTorch's `torch.distributed`: ranks, groups, and what they say to each other."""
