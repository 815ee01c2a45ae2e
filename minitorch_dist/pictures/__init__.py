"""Pictures of what happened between ranks, all drawn from a `scene`, by our own code.

scene ─┬─► spacetime, bars     the terminal: letters, 80 columns, colours if there are any
       ├─► svg                 papers and notebooks
       ├─► page                one HTML file: zoom, play, step, filter, two runs side by side
       └─► trace               ui.perfetto.dev, chrome://tracing
"""
