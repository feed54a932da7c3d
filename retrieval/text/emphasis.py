"""Bold words in Chinese, Japanese and Korean text: `依**《細則》**的規定`, `**規則（2025年）**的大綱`.

CommonMark takes a `**` between a letter and a punctuation mark for text, as it goes by the spaces of Western languages.
Here such a mark beside a CJK character begins and ends bold words as one beside a space would. A single `*` stays as it
is: `5*（3+2）*4` is arithmetic. `ragsite/web/static/js/chat/emphasis.js` has the same rule for the answer that is still
being written; tests/markdown_cases.json holds both to the same results.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


def cjk_emphasis(parser: MarkdownIt) -> None:
    """A plugin of markdown-it."""
    parser.inline.ruler.before("emphasis", "cjk_emphasis", _bold)


def _bold(state: StateInline, silent: bool) -> bool:
    start = state.pos
    if silent or state.src[start] != "*":
        return False
    scanned = state.scanDelims(start, True)
    end = start + scanned.length
    before = state.src[start - 1] if start else " "
    after = state.src[end] if end < state.posMax else " "
    if scanned.length < 2 or not (_CJK.match(before) or _CJK.match(after)):
        return False
    for _ in range(scanned.length):
        state.push("text", "", 0).content = "*"
        state.delimiters.append(
            Delimiter(
                marker=ord("*"), length=scanned.length, token=len(state.tokens) - 1, end=-1,
                open=not after.isspace(), close=not before.isspace(),
            )
        )  # fmt: skip
    state.pos = end
    return True
