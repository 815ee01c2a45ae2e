"""How values are spread: counting and similarity."""
