"""What rules can do for the words of a search: leave out what says nothing, keep what it is about, repeat nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ragsite.core.wording import worded
from retrieval.text.analysis import analyze
from retrieval.text.language import HAN_CHARACTER
from retrieval.text.quoting import one_line
from retrieval.text.term_coverage import strong_terms

QUERY_CHARS = 500
_EDGES = " ,.!?;:，。！？；：、"
_WORD = re.compile(r"\w+(?:[-'’./]\w+)*")
_FILLER = re.compile(
    r"^(?:(?:please|hi|hello|hey|well|so|um)[,!.]?\s+)+"
    r"|\b(?:can|could|would|will) you (?:please )?(?:tell|explain|show|help|describe)(?: to)?(?: me)?"
    r"(?: with| about| understand)?\b"
    r"|\bi(?:'d| would) like to (?:know|ask|find out|understand)(?: about| if| whether)?\b"
    r"|\bi(?:'m| am) (?:trying to (?:figure out|find out|understand)|wondering)(?: about| if| whether)?\b"
    r"|\bi (?:want|need) to (?:know|find out|understand)(?: about| if| whether)?\b"
    r"|\b(?:tell|explain to|show) me(?: about)?\b|\bdo you know(?: if| whether)?\b|\bplease\b"
    r"|(?:请问|請問|我想(?:知道|了解|问|請問|問)(?:一下)?|(?:能|可以)(?:不能|不可以|否)?(?:请|請)?(?:你|您)?(?:告诉|告訴)我"
    r"|(?:麻烦|麻煩)(?:你|您)?|告诉我|告訴我|谢谢|謝謝|一下)",
    re.IGNORECASE,
)
_CHATTY = re.compile(
    r"\b(?:can|could|would|will) you\b|\bplease\b|\bhelp me\b|\bi(?:'d| would)? (?:want|like|need) to know\b"
    r"|\b(?:find|look up|search for) (?:me )?(?:something|anything|some|information)\b"
    r"|(?:请|請)(?:你|您)?(?:帮|幫)|(?:帮|幫)(?:我|忙)|我想(?:知道|了解|问|問|找|查)|(?:能|可以)(?:不能|不可以|否)?(?:告诉|告訴)我"
    r"|(?:找|查)一下|(?:麻烦|麻煩)(?:你|您)?",
    re.IGNORECASE,
)
_SEARCH_FOR = re.compile(
    r"\b(?:find|look up|search for|help) (?:me )?(?:something |anything |some (?:information|documents) )?"
    r"(?:about|on)?\b"
    r"|(?:请|請)?(?:你|您)?(?:帮|幫)(?:我|忙)?(?:找|查)?(?:一下)?\s*(?:关于|關於)?|(?:找|查)一下"
    r"|(?:相关)?的?(?:资料|資料|东西|東西|信息|資訊)$",
    re.IGNORECASE,
)


def without_filler(text: str) -> str:
    """The question without politeness and lead-in words; the question itself when nothing would be left."""
    kept = " ".join(_FILLER.sub(" ", text).split()).strip(_EDGES)
    return kept or text.strip()


def without_chat(text: str) -> str:
    """The question without filler and without the words that only ask for a search ("help me find something on")."""
    plain = without_filler(text)
    return without_filler(" ".join(_SEARCH_FOR.sub(" ", plain).split())) or plain


def key_words(question: str) -> list[str]:
    """What the question is about, as it is written there; of a Chinese question the terms, in Simplified."""
    strong = strong_terms(question)
    if HAN_CHARACTER.search(question):
        return strong
    wanted = set(strong)
    return [word for word in _WORD.findall(question) if wanted & set(analyze(word))]


def distinct(texts: Iterable[str], *, tried: Sequence[str]) -> list[str]:
    """Cleaned texts in order, each once, without empty ones and without those that were searched for before."""
    seen = {_folded(text) for text in tried} | {""}
    kept: list[str] = []
    for text in texts:
        text = one_line(text)[:QUERY_CHARS]
        if (folded := _folded(text)) not in seen:
            seen.add(folded)
            kept.append(text)
    return kept


def _folded(text: str) -> str:
    """Two queries with the same words in the same order are one."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def why_rewrite(message: str, draft: str, *, short_chars: int) -> str:
    """The reason to rewrite a message before it is searched for; empty where it is clear as it is.

    Short: fewer than `short_chars` characters (seed 004: 10). `draft`: the message joined with what it leaves out.
    """
    text = " ".join(message.split())
    if draft.strip() != message.strip():
        return worded("it points back to what was said before")
    if len(text) < short_chars:
        return worded("it is shorter than {short_chars} characters", short_chars=short_chars)
    return worded("it is chatty") if _CHATTY.search(text) else ""
