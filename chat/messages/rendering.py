"""An answer's Markdown as HTML that is safe to put into a page.

Markdown is parsed without raw HTML, then sanitised. Images are left out: an address that a document smuggled into an
answer could carry the conversation away as soon as a browser loads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from retrieval.engine.text.markers import CITATION
from retrieval.engine.text.statements import cjk_emphasis

TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
_TEXT = ("text", "code_inline", "formula")
ATTRIBUTES = {
    "a": {"href", "title", "class", "data-marker"},
    "ol": {"start"},
    "code": {"class"},
    "div": {"class"},
    "td": {"class"},
    "th": {"class"},
}


def render_answer(text: str, *, markers: Collection[int], weak: Sequence[str] = ()) -> str:
    """HTML of an answer; the markers that have a source become `<a class="citation" data-marker="1">`.

    weak: its weakly supported sentences, as they stand in it; they are put into `<mark>`.
    """
    html = _markdown.render(text, {"markers": frozenset(markers), "weak": _needles(weak)})
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )


def reachable(html: str) -> str:
    """HTML of `render_answer` for a page without scripts: what can be scrolled sideways is reached by keyboard."""
    return html.replace("<pre>", '<pre tabindex="0">')


def _link_markers(state: StateCore) -> None:
    markers = state.env.get("markers", frozenset())
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = [
                piece for token in _texts_joined(block.children) for piece in _split(token, markers)
            ]


def _texts_joined(tokens: Iterable[Token]) -> Iterator[Token]:
    """Escaped characters as a part of the text around them; entities stay by themselves."""
    text = ""
    for token in tokens:
        if token.type == "text" or (token.type == "text_special" and token.info == "escape"):
            text += token.content
            continue
        if text:
            yield _text(text)
        text = ""
        yield token
    if text:
        yield _text(text)


def _split(token: Token, markers: Collection[int]) -> list[Token]:
    if token.type != "text":
        return [token]
    pieces: list[Token] = []
    position = 0
    for match in CITATION.finditer(token.content):
        if (number := int(match[1])) in markers:
            link = (
                f'<a class="citation" href="#source-{number}" data-marker="{number}">[{number}]</a>'
            )
            pieces += [_text(_glued(token.content[position : match.start()])), _html(link)]
            position = match.end()
    return [*pieces, _text(token.content[position:])]


def _glued(before: str) -> str:
    """What stands before a citation: its last space is one at which no line ends."""
    return f"{before[:-1]}\u00a0" if before.endswith(" ") else before


# ------------------------------------------------------------------------------------------------ weak sentences
# A sentence is found by its letters and digits alone, so emphasis, links and citations inside it do not matter. Each
# piece of text that belongs to it is wrapped by itself, so the marks never cross another element.
def _needles(sentences: Iterable[str]) -> list[str]:
    return list(filter(None, (_squeezed(CITATION.sub("", sentence)) for sentence in sentences)))


def _mark_weak(state: StateCore) -> None:
    """A core rule of markdown-it: reads what `_needles` gave from the environment and takes out those that it found."""
    needles: list[str] = state.env.get("weak", [])
    for block in state.tokens:
        if needles and block.type == "inline" and block.children:
            marked = _places(block.children, needles)
            block.children = [
                piece
                for at, token in enumerate(block.children)
                for piece in _wrap(token, marked.get(at))
            ]


def _places(tokens: Sequence[Token], needles: list[str]) -> dict[int, list[tuple[int, int]]]:
    """Token → character ranges in it that belong to weak sentences."""
    letters = [
        (at, position)
        for at, token in enumerate(tokens)
        if token.type in _TEXT
        for position, char in enumerate(token.content)
        if char.isalnum()
    ]
    text = "".join(tokens[at].content[position] for at, position in letters)
    marked: dict[int, list[tuple[int, int]]] = {}
    searched = 0
    for needle in list(needles):
        start = text.find(needle, searched)
        if start < 0:
            continue
        needles.remove(needle)
        searched = start + len(needle)
        for at in dict.fromkeys(token for token, _ in letters[start:searched]):
            own = [position for token, position in letters[start:searched] if token == at]
            marked.setdefault(at, []).append((own[0], _with_stop(tokens[at].content, own[-1] + 1)))
    return marked


def _wrap(token: Token, ranges: list[tuple[int, int]] | None) -> Iterator[Token]:
    if not ranges:
        yield token
    elif token.type != "text":
        yield from (_html("<mark>"), token, _html("</mark>"))
    else:
        position = 0
        for start, end in ranges:
            yield _text(token.content[position:start])
            yield from (_html("<mark>"), _text(token.content[start:end]), _html("</mark>"))
            position = end
        yield _text(token.content[position:])


def _with_stop(content: str, end: int) -> int:
    """With the punctuation that follows at once."""
    while end < len(content) and not content[end].isalnum() and not content[end].isspace():
        end += 1
    return end


def _squeezed(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


# ------------------------------------------------------------------------------------------------ formulas
# $…$, \(…\), $$…$$ and \[…\], kept as TeX for the page, which draws them once the answer is done. A dollar that is a
# price begins no formula. Each search for an end is bounded, so that the time stays linear.
FORMULA_LINES = 50
_INLINE = re.compile(
    r"\$\$(?!\$\$)(.{1,2000}?)\$\$|\\\((?!\\\))(.{1,2000}?)\\\)"
    r"|(?<![^\W_])\$([^\s$](?:[^$]{0,2000}[^\s$])?)\$(?![^\W_])",  # as Pandoc has it: "US$5 and A$6" is money
    re.S,
)
_BLOCK = re.compile(r"(?:\$\$((?:(?!\$\$).)+)\$\$|\\\[((?:(?!\\\]).)+)\\\])[ \t]*(?=\n|\Z)", re.S)
_TEX = re.compile(r"[\\^_{]")
_PROSE = re.compile(r"[A-Za-z]{3}|[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
_NUMBER = re.compile(r"[\d.,]+")
_MARKERS = re.compile(r"[\d,\s]*")
_OPERATOR = re.compile(r"[=<>+*]")


def _formulas(parser: MarkdownIt) -> None:
    """A plugin of markdown-it: tokens `formula` (inline) and `formula_block`, whose content is TeX."""
    parser.inline.ruler.before("escape", "formula", _formula_inline)
    # Where the lines of a table end, and a paragraph that a formula follows at once
    parser.block.ruler.before(
        "fence",
        "formula_block",
        _formula_lines,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )


def _is_formula(content: str) -> bool:
    """Whether what stands between two dollars or \\(…\\) is a formula rather than words and prices."""
    if not content.strip():
        return False
    if _TEX.search(content):
        return True
    if _PROSE.search(content):
        return False
    return not content[0].isdigit() or bool(_NUMBER.fullmatch(content) or _OPERATOR.search(content))


def _formula_inline(state: StateInline, silent: bool) -> bool:
    found = _INLINE.match(state.src, state.pos)
    content = found[found.lastindex or 0] if found else ""
    if found is None or not _is_formula(content):
        return False
    if not silent:
        state.push("formula", "", 0).content = content.strip()
    state.pos = found.end()
    return True


def _formula_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start) or not state.src.startswith(
        ("$$", "\\["), state.bMarks[start] + state.tShift[start]
    ):
        return False
    last = start + 1
    while last < min(end, start + FORMULA_LINES) and state.sCount[last] >= state.blkIndent:
        last += 1  # there the list or the quote ends
    found = _BLOCK.match(state.getLines(start, last, state.blkIndent, False).lstrip())
    content = found[found.lastindex or 0].strip() if found else ""
    if found is None or not content or _MARKERS.fullmatch(content):
        return False  # `\[1\]` is an escaped citation
    if not silent:
        token = state.push("formula_block", "", 0)
        state.line = start + found[0].count("\n") + 1
        token.content = content
        token.map = [start, state.line]
        token.block = True
    return True


# ------------------------------------------------------------------------------------------------ tokens
def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _html(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)


def _align(state: StateCore) -> None:
    """A column's alignment as a class: the site's pages allow no styles in their text."""
    for token in state.tokens:
        if token.type in ("td_open", "th_open") and (style := token.attrs.pop("style", None)):
            token.attrs["class"] = f"is-{str(style).rpartition(':')[2]}"


def _outline(state: StateCore) -> None:
    """Headings follow the page's own without a gap: the first is an h2, one below it an h3, whatever levels it has."""
    outline: list[str] = []
    for token in state.tokens:
        if token.type == "heading_open":
            while outline and outline[-1] >= token.tag:
                outline.pop()
            outline.append(token.tag)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(len(outline) + 1, 6)}"


def _formula(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping
) -> str:
    return f'<code class="formula">{escapeHtml(tokens[index].content)}</code>'


def _formula_block(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping
) -> str:
    return f'<div class="formula-block">{_formula(self, tokens, index, options, env)}</div>\n'


def _parser() -> MarkdownIt:
    parser = (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .use(_formulas)
        .use(cjk_emphasis)
    )
    parser.add_render_rule("formula", _formula)
    parser.add_render_rule("formula_block", _formula_block)
    # "[1]: https://…" in an answer would turn its citation markers into links to elsewhere.
    parser.disable(["reference", "image"])
    parser.core.ruler.push("alignment", _align)
    parser.core.ruler.push("outline", _outline)
    # Before entities become text: `&#91;1&#93;` is a number in brackets that a passage has of its own.
    parser.core.ruler.before("text_join", "citation_markers", _link_markers)
    parser.core.ruler.push("weak_sentences", _mark_weak)
    return parser


_markdown = _parser()
