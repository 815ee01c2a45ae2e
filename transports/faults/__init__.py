"""Things that go wrong on purpose: `plans` says what, as data that is written down, compared, taken apart and read back."""
