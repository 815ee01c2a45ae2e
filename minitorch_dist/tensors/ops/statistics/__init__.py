"""How values are spread: counting, covariance, distances and differences."""
