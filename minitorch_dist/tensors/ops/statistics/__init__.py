"""How values are spread: counting, differences and similarity."""
