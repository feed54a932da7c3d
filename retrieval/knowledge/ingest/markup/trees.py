"""Trees of HTML, in whatever encoding."""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml import etree
from lxml import html as lxml_html

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.text import readable_text

MAX_STYLE_BYTES = 400_000
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def html_tree(data: bytes) -> lxml_html.HtmlElement:
    """In whatever encoding. Raises DocumentUnreadableError."""
    return tree_of(readable_text(data, markup=True))


def tree_of(text: str) -> lxml_html.HtmlElement:
    """An empty one of a text without any element or word. Raises DocumentUnreadableError."""
    parser = lxml_html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml_html.document_fromstring(_XML_DECLARATION.sub("", text), parser=parser)
    except etree.ParserError:
        return lxml_html.document_fromstring("<body></body>")
    if any("depth" in entry.message for entry in parser.error_log):
        raise DocumentUnreadableError(
            worded("This HTML file nests its elements too deeply to be read.")
        )
    return root


def embed_styles(root: lxml_html.HtmlElement, sheet_at: Callable[[str], bytes | None]) -> None:
    """Puts the style sheets that lie beside a page into it. sheet_at: what lies where a link leads; None: nothing."""
    for link in list(root.iter("link")):
        if "stylesheet" not in (link.get("rel") or "").lower():
            continue
        data = sheet_at(link.get("href") or "")
        if data is not None:
            style = etree.Element("style", media=link.get("media") or "all")
            style.text = readable_text(data[:MAX_STYLE_BYTES])
            link.addprevious(style)
            link.getparent().remove(link)
