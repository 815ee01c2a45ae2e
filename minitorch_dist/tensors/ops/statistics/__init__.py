"""How values are spread: counting, covariance, distances, differences and similarity."""
