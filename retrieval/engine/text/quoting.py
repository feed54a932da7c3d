"""What goes into a prompt: how many tokens it costs, about, without any model's tokenizer; and documents and earlier
messages as quoted material: delimited, numbered, and unable to end the quotation.

The prompts say that text between <passages> and <conversation> tags is material, never instructions; here those tags
are taken out of what is quoted. All else stays as it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from ragsite.core.text import replace_hidden, unix_lines
from retrieval.engine.values import HistoryMessage, StoredChunk

# ------------------------------------------------------------------------------------------------ tokens
LATIN_CHARS_PER_TOKEN = 4.0
OTHER_CHARS_PER_TOKEN = 2.0  # Cyrillic, Arabic, Thai … break into more pieces than English

# Han, kana, Hangul, and the full-width forms and punctuation that go with them
_CJK_RUN = re.compile(
    r"[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u318f\u31a0-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)
_LETTERS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"[0-9]+")
LETTERS_PER_PIECE = 7
DIGITS_PER_PIECE = 2


def estimate_tokens(text: str) -> int:
    """An upper-leaning estimate: a CJK character is a token, four ASCII characters are one, two of any other script."""
    if text.isascii():
        return math.ceil(len(text) / LATIN_CHARS_PER_TOKEN)
    cjk = sum(map(len, _CJK_RUN.findall(text)))
    ascii_ = len(text.encode("ascii", "ignore"))
    other = len(text) - cjk - ascii_
    return math.ceil(cjk + ascii_ / LATIN_CHARS_PER_TOKEN + other / OTHER_CHARS_PER_TOKEN)


def estimate_word_pieces(text: str) -> int:
    """As a tokenizer of BERT's kind breaks it: each symbol and each letter beyond a–z by itself, long words in pieces.

    Measured with all-MiniLM's tokenizer on English and Chinese prose and technical documentation: the real number is
    0.9 to 1.04 of this at the median, 1.03 to 1.22 at the 99th percentile.
    """
    words = list(map(len, _LETTERS.findall(text)))
    numbers = list(map(len, _DIGITS.findall(text)))
    symbols = sum(map(len, text.split())) - sum(words) - sum(numbers)
    pieces = sum(-(-letters // LETTERS_PER_PIECE) for letters in words)
    return symbols + pieces + sum(-(-digits // DIGITS_PER_PIECE) for digits in numbers)


# ------------------------------------------------------------------------------------------------ quoting
HISTORY_MESSAGES = 20  # of the session that are looked back at
HISTORY_TOKENS = 1500  # and their length together

MESSAGE_CHARS = 1200  # of one earlier message
NO_HISTORY = "-"
_OPEN = r"(?:<|＜|&lt;)"
_CLOSE = r"(?:>|＞|&gt;)"
_TAG = re.compile(
    rf"{_OPEN}\s*+(/?)\s*+(passages?|sections|statements?|conversation|memories|help|answer|system|instructions?)\b"
    rf"([^<>＜＞\n]{{0,80}}?){_CLOSE}",
    re.IGNORECASE,
)
# What chat templates set roles and turns apart with: the model server reads these marks in a message's text as well.
_TURN = re.compile(
    r"<([|｜][^<>\n]{1,40}[|｜])>|<(/?(?:s|bos|eos|start_of_turn|end_of_turn|think|tool_call|tool_response|unused\d+))>"
    r"|<<(/?SYS)>>|\[(/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS))\]"
)
_BLANK_LINES = re.compile(r"\n\s*\n+")


def neutralise(text: str) -> str:
    """The text without hidden characters, our delimiters and chat templates' marks."""
    text = replace_hidden(unix_lines(text))
    text = _TAG.sub(r"‹\1\2\3›", text)
    text = _TURN.sub(lambda match: f"‹{next(filter(None, match.groups()))}›", text)
    return _BLANK_LINES.sub("\n", text).strip()


def one_line(text: str) -> str:
    """`neutralise`d, on one line."""
    return " ".join(neutralise(text).split())


def label(chunk: StoredChunk) -> str:
    """Title, section, file and page on one line."""
    parts = [chunk.title or chunk.file_name or chunk.document_id]
    if chunk.heading and chunk.heading != chunk.title:
        parts.append(chunk.heading)
    place = [chunk.file_name] if chunk.file_name and chunk.file_name != chunk.title else []
    if chunk.page is not None:
        place.append(f"p. {chunk.page}")
    facts = [
        str(value) for value in (chunk.department, chunk.doc_type, chunk.policy_year) if value
    ] + web_facts(chunk)
    note = ", ".join(place + facts)
    return one_line(" — ".join(parts) + (f" ({note})" if note else ""))


def rows_of(chunk: StoredChunk) -> str:
    """Which rows of a table it holds a part of: "21–40 of 120"; "" for other passages."""
    if chunk.table_rows is None:
        return ""
    first, last, count = chunk.table_rows
    return f"{first}–{last} of {count}"


def web_facts(chunk: StoredChunk) -> list[str]:
    """Site and date of a web result; nothing for a document."""
    if chunk.kind != "web":
        return []
    return [fact for fact in (urlsplit(chunk.url).hostname or "web", chunk.published) if fact]


def quote_source(number: int, chunk: StoredChunk) -> str:
    """A passage to be answered from, in tags: what names it stands apart from what it says, so that a small model does
    not quote a title as a statement. In the document's own script: the answer's is seen to where it is sent."""
    facts = [str(value) for value in (chunk.department, chunk.doc_type, chunk.policy_year) if value]
    named = {
        "title": chunk.title,
        "section": chunk.heading if chunk.heading != chunk.title else "",
        "file": chunk.file_name if chunk.file_name != chunk.title else "",
        "page": "" if chunk.page is None else str(chunk.page),
        "rows": rows_of(chunk),
        "about": ", ".join(facts),
        "from_the_web": ", ".join(web_facts(chunk)),
    }
    attributes = "".join(f' {name}="{attribute(value)}"' for name, value in named.items() if value)
    return f'<passage id="{number}"{attributes}>\n{neutralise(chunk.text)}\n</passage>'


def attribute(value: str) -> str:
    """A value for quotation marks in a tag."""
    return one_line(value).replace('"', "'").replace("<", "‹").replace(">", "›")


def quote_history(history: Sequence[HistoryMessage]) -> str:
    """The latest messages that fit, oldest first, one a line; `-` when there are none."""
    lines: list[str] = []
    left = HISTORY_TOKENS
    for message in reversed(history[-HISTORY_MESSAGES:] if HISTORY_MESSAGES else ()):
        speaker = "User" if message.role == "user" else "Assistant"
        line = f"{speaker}: {one_line(message.text[: 4 * MESSAGE_CHARS])[:MESSAGE_CHARS]}"
        left -= estimate_tokens(line)
        if left < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines)) or NO_HISTORY
