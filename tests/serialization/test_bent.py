"""A bent file or index is read, or refused with the one error."""

from __future__ import annotations

from tests.serialization.bent import campaign


def test_bent_files_and_indices() -> None:
    files, indices = campaign(1500, 1)
    assert 50 < files < 1400 and 50 < indices < 1400
