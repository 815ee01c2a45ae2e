"""Pictures of what happened between ranks, all drawn from a `scene`, by our own code.

scene ─┬─► spacetime           the terminal: letters, 80 columns, colours if there are any
       ├─► svg                 papers and notebooks
       ├─► page                one HTML file: zoom, play, step, filter, two runs side by side
       └─► trace               ui.perfetto.dev, chrome://tracing
grid ─┬─► letters               what each rank holds of each chunk, step by step (`grid`)
      ├─► grid_svg              the same as SVG, also one that moves
      └─► grid_page             a page, or a notebook's output, that can be stepped
step_page                      one HTML file of a training step: timelines, memory, critical path

A grid's contents stand in `grid_cells`, and `grid_letters` draws them in a terminal. All use `colours`, `terminal` (the colours and letters that it can show) and `words` (short amounts).
"""
