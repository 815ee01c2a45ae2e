"""Real PyTorch over our transports, and in our simulator."""
