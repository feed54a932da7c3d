"""A document as people read it: rendered part by part, safe whatever it holds, with its chunks as an overlay."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from lxml import html as lxml_html
from rest_framework.test import APIClient

from retrieval.knowledge.ingest.parts import PART_CHARS
from retrieval.knowledge.services.document_html import TAGS
from retrieval.models import Document
from tests.factories import CollectionFactory
from tests.retrieval.knowledge.ingest.files import docx_bytes, pptx_bytes, xlsx_bytes
from tests.retrieval.read_documents import read_document_row

MARKDOWN = """# Loans

Students may borrow **ten** books, see [the site](https://example.org/loans).

| Group | Books |
|---|--:|
| Staff | 40 |

- one
- two
"""


def own(user: User, data: bytes | str, name: str, **fields: Any) -> Document:
    data = data.encode() if isinstance(data, str) else data
    collection = CollectionFactory(owner=user, visibility="private")
    return read_document_row(data, name, collection=collection, **fields)


def content(client: APIClient, document: Document, **query: Any) -> Any:
    response = client.get(f"/api/documents/{document.pk}/content", query)
    assert response.status_code == 200, response.content
    return response.json()


def test_markdown_is_shown_as_it_is_meant(client: APIClient, user: User) -> None:
    html = content(client, own(user, MARKDOWN, "a.md"))["html"]
    assert "<h3>Loans</h3>" in html and "<strong>ten</strong>" in html
    assert (
        '<a href="https://example.org/loans" rel="noopener noreferrer nofollow">the site</a>'
        in html
    )
    assert (
        '<th dir="auto">Group</th>' in html
        and '<td dir="auto">40</td>' in html
        and "<li>two</li>" in html
    )


STAFF_FEE = '<th dir="auto">Fee</th></tr></thead><tbody><tr><td dir="auto">Staff</td><td dir="auto">5</td></tr>'


@pytest.mark.parametrize(
    ("data", "name", "shown"),
    [
        (docx_bytes(), "a.docx", ["<h3>Loans</h3>", "<h4>Fines</h4>", '<td dir="auto">unlimited</td>']),
        (pptx_bytes(), "a.pptx", ["<h3>Library rules</h3>", "Ten books.<br>每逾期一天罚款一元。"]),
        (xlsx_bytes({"Fees": [["Group", "Fee"], ["Staff", 5]]}), "a.xlsx", ["<h3>Fees</h3>", STAFF_FEE]),
        (b"Group,Fee\nStaff,5\n", "a.csv", ["<table><thead>", STAFF_FEE]),
        (b"Group,Fee\n,5\n", "a.csv", ['<td dir="auto"></td><td dir="auto">5</td>']),
        ("第一章 总则\n\n学生借阅图书。".encode("gbk"), "a.txt", ["<h4>第一章 总则</h4>", "学生借阅图书。"]),
        (b"<h1>Loans</h1><table><tr><td>a<td>b</table>", "a.html", ["<h3>Loans</h3>", '<td dir="auto">b</td>']),
    ],
)  # fmt: skip
def test_every_kind_is_shown_with_headings_and_tables(
    client: APIClient, user: User, data: bytes, name: str, shown: list[str]
) -> None:
    html = content(client, own(user, data, name))["html"]
    assert [words for words in shown if words not in html] == []


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.html", "a.csv"])
def test_nothing_in_a_file_becomes_a_script_or_loads_from_elsewhere(
    client: APIClient, user: User, name: str
) -> None:
    hostile = (
        "# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)> and [go](javascript:alert(1)) ![i](http://x/y.png)\n\n"
        "[go](data:text/html,x) <a href='javascript:alert(1)' onclick=x>link</a> <iframe src=//x></iframe>\n\n"
        "|a|b|\n|-|-|\n|<svg/onload=alert(1)>|[x](vbscript:x)|\n"
    )
    shown = lxml_html.fragments_fromstring(content(client, own(user, hostile, name))["html"])
    elements = [element for block in shown for element in block.iter()]
    assert {element.tag for element in elements} <= TAGS | {"div"}
    names = {name for element in elements for name in element.attrib}
    assert names <= {"class", "dir", "id", "data-start", "data-end", "tabindex", "href", "rel"}
    assert all(element.get("href", "http:").startswith("http") for element in elements)


def test_a_huge_table_comes_in_parts_whose_texts_follow_each_other(
    client: APIClient, user: User
) -> None:
    rows = "\n".join(f"| {number} | {'x' * 40} |" for number in range(2000))
    document = own(user, f"| no | text |\n|---|---|\n{rows}\n", "a.md")
    count = content(client, document)["part_count"]
    assert count > 5
    shown = [content(client, document, part=number)["html"] for number in range(1, count + 1)]
    assert max(map(len, shown)) < 10 * PART_CHARS
    numbers = [
        int(number) for html in shown for number in re.findall(r'<td dir="auto">(\d+)</td>', html)
    ]
    assert numbers == list(range(2000))


def test_the_part_with_a_quoted_text_is_found_near_its_chunk(client: APIClient, user: User) -> None:
    text = "\n\n".join(f"# Section {number}\n\n{'Students may borrow books. ' * 60} Fine {number} applies."
                       for number in range(20))  # fmt: skip
    document = own(user, text, "a.md")
    chunk = document.chunks.filter(text__contains="Fine 15 applies").get()
    found = content(client, document, chunk=str(chunk.pk), quote="Fine  15 APPLIES")
    assert "Fine 15 applies" in found["html"] and found["part"] > 1
    assert str(chunk.pk) in [row["id"] for row in found["chunks"]]


def test_a_document_says_what_was_not_read(client: APIClient, user: User) -> None:
    document = own(user, "<p>Open daily.</p><img src=a.png><iframe src=b></iframe>", "a.html")
    shown = client.get(f"/api/documents/{document.pk}").json()
    assert (shown["word_count"], shown["unread"]) == (2, ["1 picture without text", "1 drawing"])
    client.force_login(user)
    page = client.get(f"/documents/{document.pk}/").content.decode()
    assert "<li>1 picture without text</li><li>1 drawing</li>" in page


def test_a_stranger_and_a_part_that_is_not_there_get_404(
    client: APIClient, stranger: APIClient, user: User
) -> None:
    document = own(user, MARKDOWN, "a.md")
    assert stranger.get(f"/api/documents/{document.pk}/content").status_code == 404
    assert client.get(f"/api/documents/{document.pk}/content", {"part": 2}).status_code == 404
    assert client.get(f"/api/documents/{document.pk}/content", {"part": "0"}).status_code == 400
