"""A guard against an answer that recites its own instructions, as a document may ask for.

Prompts are files that a site may replace, and may hold what is meant for nobody else. What has been sent can't be taken
back, so text that goes along with the instructions is held until it departs from them; a run too long for chance ends
the answer there.
"""

from __future__ import annotations

HOLD = 24  # letters of one run from which text is held back
CAUGHT = 60  # and from which it can't be chance any more: about twelve words
EAST_ASIAN_LETTER = 3  # letters that one Chinese or Japanese character counts for
_EAST_ASIAN_FROM = "\u2e80"


class EchoGuard:
    """Takes pieces of an answer and gives back what may be sent. Only letters and digits are compared."""

    def __init__(self, instructions: str) -> None:
        self.caught = False
        self._instructions = _letters(instructions)
        self._run = ""  # the longest end of the answer so far that stands in the instructions
        self._held: list[str] = []

    def feed(self, piece: str) -> str:
        """What may be sent now. Nothing more once `caught`."""
        sent: list[str] = []
        for char in piece:
            if self.caught:
                break
            self._follow(char)
            length = _length(self._run)
            if length >= CAUGHT:
                self.caught = True
                self._held.clear()
            elif length >= HOLD:
                self._held.append(char)
            else:
                sent += [*self._held, char]
                self._held.clear()
        return "".join(sent)

    def finish(self) -> str:
        """What was still held back: too short a run to be an echo."""
        held, self._held = "".join(self._held), []
        return held

    def _follow(self, char: str) -> None:
        if not char.isalnum():
            return
        self._run += char.lower()
        while self._run and self._run not in self._instructions:
            self._run = self._run[1:]


def _letters(text: str) -> str:
    return "".join(char.lower() for char in text if char.isalnum())


def _length(run: str) -> int:
    return sum(EAST_ASIAN_LETTER if char >= _EAST_ASIAN_FROM else 1 for char in run)
