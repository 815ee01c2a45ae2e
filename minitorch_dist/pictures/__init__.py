"""Pictures of what happened between ranks, all drawn from a `scene`, by our own code.

scene ─┬─► spacetime           the terminal: letters, 80 columns, colours if there are any
       └─► svg                 papers and notebooks

All use `colours`, `terminal` (the colours and letters that it can show) and `words` (short amounts). The command draws
pages and traces of a scene, too (`mtd.pages`), and grids of what each rank holds (`mtd.grids`).
"""
