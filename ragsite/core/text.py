"""The one place where odd characters of text from outside are dealt with. Plain Python, no Django."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

# Parts of a character class; \u escapes, so that JSON Schema's patterns can take them too.
CONTROL = r"\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # all control characters but tab and line feed
# What is not seen, or turns text around: soft hyphen, zero width, direction, tag characters.
INVISIBLE = r"\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
HIDDEN = CONTROL + INVISIBLE
_HIDDEN = re.compile(f"[{HIDDEN}]")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
# Arabic and Indic scripts are spelled with joiners, and emoji are composed by them; direction marks order what is seen.
_NOT_SPELLING = re.compile(
    r"[\u00ad\u180e\u200b\u202d\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
    r"|(?<![\u0600-\u1cff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]"
)
_TURNING = re.compile(
    r"[\u0000-\u0008\u000e-\u001b\u007f\u0080-\u0084\u0086-\u009f\u202a-\u202e\u2066-\u2069]"
)
_BLANKS = re.compile(
    r"[\u034f\u115f\u1160\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]"
)  # letters and marks that show nothing
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
MAX_FILE_NAME_CHARS = 300
MAX_SUFFIX_CHARS = 20
MAX_ID = 2**63 - 1  # of a row, in every database


def encodable(text: str) -> str:
    """With a question mark for every lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def clean_text(text: str, *, nul: str = "") -> str:
    """Text that every database takes. `nul`: what stands for a NUL, where two texts must not become the same."""
    return encodable(text.replace("\0", nul))


def clean_json(value: Any) -> Any:
    """The value as plain JSON: NaN and infinities become None, unknown objects their text."""
    match value:
        case str():
            return clean_text(value)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {clean_text(str(key)): clean_json(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [clean_json(item) for item in value]
        case _ if hasattr(value, "item") and callable(value.item):  # numpy's scalars
            return clean_json(value.item())
        case _:
            return clean_text(str(value))


def row_id(text: str) -> int | None:
    """The id that digits from outside name; None: of no row. Thousands of digits are no number to Python, and more than
    MAX_ID none to a database."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ID))):
        return None
    number = int(text)
    return number if number <= MAX_ID else None


def clean_line(text: str) -> str:
    """On one line: every run of white space is one space, none at the ends.

    Without control characters and marks that turn what follows them around: a name would turn the sentence it is in.
    Empty where nothing of it can be seen.
    """
    line = " ".join(_TURNING.sub("", clean_text(text)).split())
    return line if is_seen(line) else ""


def is_seen(text: str) -> bool:
    """Whether there is anything in it that can be seen."""
    return bool(_BLANKS.sub("", replace_hidden(text)).strip())


def clean_file_name(name: str) -> str:
    """The last part of whatever the client called the file, without control characters.

    At most MAX_FILE_NAME_CHARS; the extension is kept, up to MAX_SUFFIX_CHARS of it. "document" where nothing is left.
    """
    last = unicodedata.normalize("NFC", name.replace("\\", "/").rstrip("/").rpartition("/")[2])
    last = "".join(character for character in last if unicodedata.category(character)[0] != "C")
    stem, dot, suffix = last.rstrip(" .").rpartition(".")
    if not dot:
        stem = suffix
        suffix = ""
    suffix = suffix[:MAX_SUFFIX_CHARS]
    stem = stem.strip(" .")[: MAX_FILE_NAME_CHARS - len(dot + suffix)] or "document"
    return f"{stem}{dot}{suffix}"


def replace_hidden(text: str, by: str = "") -> str:
    """`by` in place of each character of HIDDEN. Tabs and line feeds stay."""
    return _HIDDEN.sub(by, text)


def strip_invisible(text: str) -> str:
    """For matching: without any character that cannot be seen, so that a word is the one that readers see. White space
    and control characters stay."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def strip_for_reading(text: str) -> str:
    """For storing and showing: without soft hyphens, zero-width characters, tags and direction overrides ("42" would be
    read as "24"). What spelling, emoji and text of two directions need stays."""
    return text if text.isascii() else _NOT_SPELLING.sub("", text)


def unix_lines(text: str) -> str:
    """With \\n for \\r\\n and for \\r."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shortened(text: str, most: int) -> str:
    """At most `most` ≥ 1 characters; "…" is the last one where something was cut off."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def spreadsheet_cell(text: str) -> str:
    """A spreadsheet takes a text that begins with certain signs for a formula: an apostrophe before it stops that."""
    return f"'{text}" if _FORMULA.match(text) else text


def text_of_spreadsheet_cell(cell: str) -> str:
    """What `spreadsheet_cell` was given: without the apostrophe that it put before it."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
