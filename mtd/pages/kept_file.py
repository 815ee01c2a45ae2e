"""The findings of a command in a file, so that it goes on where it was interrupted.

The key of each value holds all that decides it. So commands that ask for different things keep theirs in one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from mtd.pages import whole_files
from transports.plain_text import clean

WRONG: Final = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


class KeptFile:
    """ValueError for a file that is none, or that is damaged; OSError if it cannot be written at the start. On a disk that is full later
    it goes on without keeping, and says so once by `tell`."""

    def __init__(
        self,
        path: Path,
        family: str,
        format: str,
        what: str,
        readers: Mapping[str, Callable[[Any], Any]],
        tell: Callable[[str], object] = len,
    ) -> None:
        """`family`: how the format of each version begins, and `format`: that of this one. `readers`: of each part's values."""
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_files.check(path, f'{{"format": "{family}'.encode(), what)
        self.path, self.format, self.readers = path, format, readers
        self.tell, self.is_kept, self.is_of_another_version = tell, True, False
        self.parts = self._read()  # by key
        if self.is_of_another_version:
            tell(f"{path} is of another version: it is begun anew")

    @property
    def where(self) -> str:
        """Where the same command goes on, for somebody who stopped it."""
        if not self.is_kept:
            return f"what is done could not be kept in {self.path}"
        return f"what is done is in {self.path}, and the same command goes on"

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
            kept = json.loads(text) if text else {}
            if text and kept["format"] != self.format:
                kept, self.is_of_another_version = {}, True
            return {part: dict(kept.get(part, {})) for part in self.readers}
        except WRONG as error:
            raise ValueError(
                f"{self.path} is damaged ({clean(str(error))}): delete it, or name another file with --cache"
            ) from None

    def get(self, part: str, key: str) -> Any:
        """A value; None if there is none, or none that was kept by this program."""
        try:
            return self.readers[part](self.parts[part][key])
        except WRONG:
            return None

    def keep(self, part: str, key: str, value: Any) -> None:
        """With what another command has kept meanwhile."""
        self.parts[part][key] = value
        try:
            meanwhile = self._read()
        except (OSError, ValueError):
            meanwhile = {}
        self.parts = {name: {**meanwhile.get(name, {}), **own} for name, own in self.parts.items()}
        try:
            whole_files.write(self.path, json.dumps({"format": self.format, **self.parts}))
        except OSError as error:
            if self.is_kept:
                self.tell(f"{self.path} cannot be written ({error.strerror}); it goes on, and keeps nothing")
            self.is_kept = False
