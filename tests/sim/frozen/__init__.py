"""What simulated runs gave before the room of the simulator was made smaller."""
