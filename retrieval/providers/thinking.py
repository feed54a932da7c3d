"""Thoughts that a model writes into its answer, `<think>…</think>`, taken out before anybody reads them.

Ollama sends thoughts in a field of their own, but not for every model, nor for one that was told not to think and
does. Thoughts stand at the beginning of an answer; the same marks further on are text, e.g. of an answer about such
models, and swallow nothing.
"""

from __future__ import annotations

import re

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning")
_TAG = re.compile(rf"<(/?)(?:{'|'.join(_NAMES)})>", re.IGNORECASE)
_OPENING = tuple(f"<{name}>" for name in _NAMES)
_LONGEST = max(map(len, _OPENING)) + 1
STRAY = "</think>"


class ThinkingFilter:
    """Takes pieces of an answer and gives back what is no thought, in linear time.

    `thought`: something was taken out. `stray`: an end mark stood in the text without a beginning, which some chat
    templates write into the prompt: what came before it were thoughts.
    """

    def __init__(self) -> None:
        self.thought = self.stray = False
        self._depth = 0
        self._text = False  # the answer has begun
        self._held = ""
        self._after_end: list[str] = []  # since the last end mark of thoughts that are still open

    def feed(self, piece: str) -> str:
        if self._text:
            self._look_for_stray(piece)
            return piece
        self._held += piece
        while not self._text:
            if not (self._skip() if self._depth else self._begin()):
                return ""
        text, self._held = self._held, ""
        self._look_for_stray(text)
        return text

    def finish(self) -> str:
        """What is left at the end. Thoughts that were never closed are none of it, unless an inner mark was mentioned
        and not meant: then what follows the last end mark is the answer."""
        if self._text:
            return ""
        held, self._held = self._held, ""
        if not self._depth:
            return held
        return "".join([*self._after_end, held]).strip() if self._after_end else ""

    def _begin(self) -> bool:
        """Whether the beginning is decided."""
        start = self._held.lstrip()
        if match := _TAG.match(start):
            if match[1]:  # an end at the very beginning: the prompt held the mark that opens it
                self.stray = True
            else:
                self._depth, self._after_end = 1, []
            self.thought = True
            self._held = start[match.end() :]
            return True
        if any(mark.startswith(start.lower()) for mark in (*_OPENING, *(f"</{mark[1:]}" for mark in _OPENING))):
            return False
        if self.thought:
            self._held = start
        self._text = True
        return True

    def _skip(self) -> bool:
        """Go on inside thoughts to the next mark; whether one was there."""
        match = _TAG.search(self._held)
        if match is None:
            kept = max(self._held.rfind("<", -_LONGEST), 0) if "<" in self._held[-_LONGEST:] else len(self._held)
            self._pass(self._held[:kept])
            self._held = self._held[kept:]
            return False
        self._pass(self._held[: match.start()])
        self._depth += -1 if match[1] else 1
        self._held = self._held[match.end() :]
        if match[1]:
            self._after_end = [""]
        return True

    def _pass(self, thoughts: str) -> None:
        if self._after_end:
            self._after_end.append(thoughts)

    def _look_for_stray(self, piece: str) -> None:
        """`_held` is the end of the text so far, no longer than a mark."""
        seen = self._held + piece
        self.stray = self.stray or STRAY in seen
        self._held = seen[-len(STRAY) :]


def without_thoughts(text: str) -> str:
    """A whole reply. An end mark without a beginning ends thoughts, too."""
    filtered = ThinkingFilter()
    answer = filtered.feed(text) + filtered.finish()
    return answer.rpartition(STRAY)[2] if filtered.stray else answer
