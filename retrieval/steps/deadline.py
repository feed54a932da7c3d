"""The time that an answer has."""

from __future__ import annotations

import time

KEPT_FOR_WRITING = 0.3  # of the whole time, until the writing has begun
NEEDED_SHARE, OPTIONAL_SHARE = 0.6, 0.25  # of what is left besides, for one step


class Deadline:
    """The moment by which the whole answer should stand; every step's own limit ends there too."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._ends - time.monotonic())

    def limit(self, seconds: float) -> float:
        return min(seconds, self.remaining())

    def share(self, seconds: float, *, optional: bool, writing: bool) -> float:
        """Seconds for one step's model call. What only improves an answer gets less, and falls away first.

        writing: the answer's own text has been begun, so that no time is kept for it any more; what is needed may take
        all that is left.
        """
        if writing:
            return min(seconds, self.remaining() * (OPTIONAL_SHARE if optional else 1.0))
        left = self.remaining() - KEPT_FOR_WRITING * self._seconds
        return max(0.0, min(seconds, left * (OPTIONAL_SHARE if optional else NEEDED_SHARE)))
