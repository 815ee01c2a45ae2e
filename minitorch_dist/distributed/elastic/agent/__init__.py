"""The process that looks after the workers of one node: `job` (what to do) and `agent` (the loop)."""
