"""Whole messages of bytes between numbered ranks, over anything: queues, TCP, a file, MQTT, time itself.

This ground knows no arrays, no groups and no tags. `contract` says what a transport promises, and
`conformance` checks it for any of them, yours included. Import the modules (`transports.tcp`), not
this package: its name is a common word.
"""
