r"""Formulas in Markdown: $…$, \(…\), $$…$$ and \[…\], kept as TeX for the page, which draws them as MathML.

A dollar that is a price begins no formula. Each search for an end is bounded, so that the time stays linear.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_CHARS = 2000
MAX_LINES = 50
_TEX = re.compile(r"[\\^_{]")
_PROSE = re.compile(r"[A-Za-z]{3}|[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
_NUMBER = re.compile(r"[\d.,]+")
_MARKERS = re.compile(r"[\d,\s]*")
_OPERATOR = re.compile(r"[=<>+*]")


def formulas(parser: MarkdownIt) -> None:
    """A plugin of markdown-it: tokens `formula` (inline) and `formula_block`, whose content is TeX."""
    parser.inline.ruler.before("escape", "formula", _inline)
    # Where the lines of a table end, and a paragraph that a formula follows at once
    parser.block.ruler.before(
        "fence", "formula_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def is_formula(content: str) -> bool:
    """Whether what stands between two dollars or \\(…\\) is a formula rather than words and prices."""
    if not content.strip():
        return False
    if _TEX.search(content):
        return True
    if _PROSE.search(content):
        return False
    return not content[0].isdigit() or bool(_NUMBER.fullmatch(content) or _OPERATOR.search(content))


def _inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    if source.startswith("$$", start):
        opening = closing = "$$"
    elif source.startswith("\\(", start):
        opening, closing = "\\(", "\\)"
    elif source.startswith("$", start):
        opening = closing = "$"
    else:
        return False
    begin = start + len(opening)
    end = source.find(closing, begin, begin + MAX_CHARS)
    if end < 0:
        return False
    content = source[begin:end]
    if not is_formula(content) or (opening == "$" and not _dollars_fit(source, start, end)):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.markup = content.strip(), opening
    state.pos = end + len(closing)
    return True


def _dollars_fit(source: str, start: int, end: int) -> bool:
    """As Pandoc has it: no space inside, and neither letter nor digit outside ("US$5 and A$6" is money)."""
    before, after = source[start - 1 : start], source[end + 1 : end + 2]
    inside = source[start + 1] + source[end - 1]
    return not (before.isalnum() or after.isalnum() or inside[0].isspace() or inside[1].isspace())


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    opening = first[:2]
    if opening not in ("$$", "\\["):
        return False
    closing = "$$" if opening == "$$" else "\\]"
    lines: list[str] = []
    for line in range(start, min(end, start + MAX_LINES)):
        if line > start and state.sCount[line] < state.blkIndent:
            return False  # the list or the quote ends
        text = first[2:] if line == start else state.getLines(line, line + 1, state.blkIndent, False)
        before, closed, after = text.partition(closing)
        lines.append(before)
        if closed:
            content = "\n".join(lines).strip()
            if after.strip() or not content or _MARKERS.fullmatch(content):
                return False  # `\[1\]` is an escaped citation
            if not silent:
                token = state.push("formula_block", "", 0)
                token.content, token.map, token.block = content, [start, line + 1], True
                state.line = line + 1
            return True
    return False
