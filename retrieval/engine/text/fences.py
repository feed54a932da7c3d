"""A reply that a model wraps in a Markdown fence as a whole (```markdown … ```) is text, not code."""

from __future__ import annotations

import re

_TEXT = frozenset({"markdown", "md", "text", "txt"})
_OPENING = re.compile(r"\s{0,16}(?P<fence>`{3,16}|~{3,16})[ \t]{0,16}(?P<info>[^\n`]{0,16})\n")
_ONE_LINE = re.compile(
    r"\s{0,16}(?P<fence>`{3,16})(?P<info>[a-z]{2,8})[ \t]+(?P<text>[^\n`]+)(?P=fence)\s*",
    re.IGNORECASE,
)
_MAY_OPEN = re.compile(r"\s{0,16}(?:`{0,16}|~{0,16})[ \t]{0,16}(?P<info>[^\n`]{0,16})")
MAX_HELD = 4_000  # characters of a block without a language that are waited for: what follows tells whether it is code


class Unwrapper:
    """Takes pieces of a reply and gives back its text without the fence around all of it.

    One that is called Markdown or text is opened at once, and its text streams. One without a name may be code that an
    answer begins with: it is held back until it ends, and stays as it is where more follows. All pieces put together
    give the same text however they are cut.
    """

    def __init__(self) -> None:
        self._held = ""
        self._fence = ""  # that the reply began with
        self._is_named = False
        self._nested = ""  # the fence of a block inside
        self._breaks = ""  # line breaks that are held back
        self._is_line_begun = False
        self._is_done = False  # what comes passes

    def feed(self, piece: str) -> str:
        if self._is_done:
            return piece
        self._held += piece
        return self._read()

    def finish(self) -> str:
        """What was held back."""
        held = self._held
        self._held = ""
        if self._is_done:
            return held
        self._is_done = True
        if not self._fence:
            wrapped = _ONE_LINE.fullmatch(held)
            return wrapped["text"] if wrapped and wrapped["info"].lower() in _TEXT else held
        if self._is_named:
            is_fence = not self._is_line_begun and (not held or self._closes(held))
            return "" if is_fence else self._breaks + held
        opening, _, rest = held.partition("\n")
        lines = rest.rstrip().split("\n")
        return "\n".join(lines[:-1]) if self._closes(lines[-1]) else f"{opening}\n{rest}"

    def _read(self) -> str:
        if not self._fence:
            return self._begin()
        return self._lines() if self._is_named else self._wait()

    def _begin(self) -> str:
        opening = _OPENING.match(self._held)
        info = opening["info"].strip().lower() if opening else ""
        if opening and (not info or info in _TEXT):
            self._fence = opening["fence"]
            self._is_named = bool(info)
            if self._is_named:
                self._held = self._held[opening.end() :]
            return self._read()
        begun = self._held.lstrip()
        may_open = _MAY_OPEN.fullmatch(self._held) and (not begun or begun[0] in "`~")
        may_be_one_line = begun.startswith("```") and "\n" not in begun and len(begun) <= MAX_HELD
        return "" if may_open or may_be_one_line else self._release()

    def _lines(self) -> str:
        """The last line is held back while it can be a fence, and the line breaks before it."""
        shown = ""
        while "\n" in self._held:
            line, _, self._held = self._held.partition("\n")
            if self._is_line_begun:
                shown += line
            elif self._closes(line) and not self._nested:
                return shown + self._release()
            else:
                shown += self._breaks + line
                self._breaks = ""
                self._note_block(line)
            self._breaks += "\n"
            self._is_line_begun = False
        if self._held and (self._is_line_begun or self._held.lstrip()[:1] not in ("", "`", "~")):
            shown += self._breaks + self._held
            self._breaks = ""
            self._held = ""
            self._is_line_begun = True
        return shown

    def _note_block(self, line: str) -> None:
        """Whether a code block begins or ends with this line."""
        if self._nested:
            self._nested = "" if _is_closing(line, self._nested) else self._nested
        elif opened := _OPENING.match(line + "\n"):
            self._nested = opened["fence"]

    def _wait(self) -> str:
        _, _, rest = self._held.partition("\n")
        *lines, last = rest.split("\n")
        closed = next((at for at, line in enumerate(lines) if self._closes(line)), None)
        follows = closed is not None and ("".join(lines[closed + 1 :]) + last).strip()
        return self._release() if follows or len(self._held) > MAX_HELD else ""

    def _closes(self, line: str) -> bool:
        return _is_closing(line, self._fence)

    def _release(self) -> str:
        self._is_done = True
        held = self._held
        self._held = ""
        return held


def _is_closing(line: str, fence: str) -> bool:
    signs = line.strip()
    return len(signs) >= len(fence) and not signs.strip(fence[0])
