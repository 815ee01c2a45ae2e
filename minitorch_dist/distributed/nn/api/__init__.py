"""Where torch keeps its RemoteModule."""
