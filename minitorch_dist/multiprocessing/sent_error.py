"""An exception on its way from one process to another: pickled, where that can be done, and its traceback as text."""

from __future__ import annotations

import pickle
import traceback
from contextlib import suppress
from typing import NamedTuple


class SentError(NamedTuple):
    """An exception that was caught in another process."""

    pickled: bytes | None  # None if it holds something that cannot be sent
    text: str

    @classmethod
    def of(cls, error: BaseException) -> SentError:
        pickled = None
        with suppress(Exception):
            pickled = pickle.dumps(error)
        return cls(pickled, "".join(traceback.format_exception(error)))

    def again(self, where: str, otherwise: type[Exception] = RuntimeError) -> BaseException:
        """The exception, with a note of `where` it was raised and the traceback that it had there. It is of the type `otherwise`,
        where its class cannot be found here or wants other arguments."""
        error: object = None
        if self.pickled is not None:
            with suppress(Exception):
                error = pickle.loads(self.pickled)
        if not isinstance(error, BaseException):
            error = otherwise(f"the exception cannot be unpickled here:\n{self.text}")
        error.add_note(f"{where}\n{self.text}")
        return error
