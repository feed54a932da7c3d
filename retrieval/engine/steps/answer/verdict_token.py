"""The verdict token: the word that the writing model replies with in place of an answer, NO_ANSWER or UNCLEAR.

A reply is held back only as long as it can still become one of these words; everything else is text from its first
token on.
"""

from __future__ import annotations

import re
from typing import Literal

Verdict = Literal["no_answer", "unclear"]
WayOut = Literal[
    "ask_back", "refuse", "none"
]  # the words that the model is offered in place of an answer
MAX_HELD = 64  # characters of a beginning that may become a verdict
EAST_ASIAN_LABEL = 4  # characters of "最终回答"; other labels are a word or two
_WORDS: dict[Verdict, str] = {"no_answer": "NO_ANSWER", "unclear": "UNCLEAR"}
_WRITTEN = {
    verdict: re.compile(word.replace("_", r"\\?[_ -]"), re.IGNORECASE)
    for verdict, word in _WORDS.items()
}
_JOINT = re.compile(r"\\?[_ -]|\\\Z")
_SIGNS = re.compile(r"[\W_]*+")  # white space, Markdown, quotation marks
_LABEL = re.compile(
    r"[\W_]*+[^\W\d_]{1,12}(?: [^\W\d_]{1,12})?(?! \w)[\W_]+"
)  # "Answer: ", "**Final answer**"
_LABEL_BEGUN = re.compile(r"[\W_]*+(?P<words>[^\W\d_]{0,12}(?: [^\W\d_]{0,12})?)")
_GOES_ON = re.compile(r"_*[^\W_]")
_EAST_ASIAN = re.compile(r"[\u2e80-\uffff]")


class VerdictReader:
    """Takes pieces of a reply and gives back its text. verdict: the word that the reply consists of, or begins with.

    White space, Markdown and a label may stand before the word. All pieces put together give the same text however they
    are cut.
    """

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self._held = ""
        self._is_text = False

    def feed(self, piece: str) -> str:
        if self._is_text or self.verdict:
            return piece if self._is_text else ""
        self._held += piece
        return self._read(is_last=False)

    def finish(self, *, whole: bool) -> str:
        """What was held back. whole: False of a reply that broke off, in a word that may have become a verdict."""
        if not whole:
            self._held = ""
        return "" if self._is_text or self.verdict else self._read(is_last=True)

    def _read(self, *, is_last: bool) -> str:
        is_long = len(self._held) > MAX_HELD
        found = _verdict(self._held[:MAX_HELD], is_last=is_last and not is_long)
        if found == "text" or (is_long and found is None):
            self._is_text = True
            text = self._held
            self._held = ""
            return text
        self.verdict = found
        return ""


def _verdict(reply: str, *, is_last: bool) -> Verdict | Literal["text"] | None:
    """None: more has to come first."""
    readings = [_word(reply, is_last=is_last)]
    if label := _LABEL.match(reply):
        readings.append(_word(reply[label.end() :], is_last=is_last))
    elif not is_last and _may_become_label(reply):
        readings.append(None)
    for reading in readings:
        if reading in _WORDS:
            return reading
    return None if None in readings and not is_last else "text"


def _may_become_label(reply: str) -> bool:
    begun = _LABEL_BEGUN.fullmatch(reply)
    if begun is None:
        return False
    return len(begun["words"]) <= EAST_ASIAN_LABEL or not _EAST_ASIAN.search(begun["words"])


def _word(reply: str, *, is_last: bool) -> Verdict | Literal["text"] | None:
    """Written otherwise than in capitals or with the underscore ("No answer.", "Unclear"), the words are a verdict only
    where nothing else is said."""
    begun = reply[_end_of_signs(reply) :]
    folded = _JOINT.sub("_", begun.upper())
    for verdict, word in _WORDS.items():
        if word.startswith(folded) and not is_last:
            return None
        written = _WRITTEN[verdict].match(begun)
        if written is None or _GOES_ON.match(begun, written.end()):
            continue
        rest = begun[written.end() :]
        if not rest.strip("_") and not is_last:
            return None
        if "_" in written[0] or written[0].isupper():
            return verdict
        if _end_of_signs(rest) == len(rest):
            return verdict if is_last else None
    return "text"


def _end_of_signs(text: str) -> int:
    signs = _SIGNS.match(text)
    return signs.end() if signs else 0
