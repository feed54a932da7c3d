"""Chunks: nothing lost, nothing too large, cut where a reader would cut."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.text.quoting import estimate_tokens
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.chunking import Chunker, TextChunk
from retrieval.knowledge.ingest.markdown import parse_markdown

LIMIT, OVERLAP = 60, 12

words = st.text("abc def. 规定，应当。！？;\n", min_size=1, max_size=400).map(str.strip).filter(bool)
block = st.builds(
    Block,
    text=words,
    kind=st.sampled_from(["paragraph", "paragraph", "heading", "table", "code"]),
    level=st.integers(1, 4),
    label=st.sampled_from(["Loans", "Fines", "总则"]),
    page=st.none(),
)
documents = st.lists(block, min_size=1, max_size=12).map(lambda blocks: ParsedDocument(blocks=tuple(blocks)))


def split(document: ParsedDocument, *, limit: int = LIMIT, overlap: int = OVERLAP) -> list[TextChunk]:
    return Chunker(chunk_tokens=limit, overlap_tokens=overlap, count_tokens=estimate_tokens).split(document)


def paragraphs(*texts: str, pages: Sequence[int | None] = ()) -> ParsedDocument:
    numbers = pages or [None] * len(texts)
    return ParsedDocument(blocks=tuple(Block(text=text, page=page) for text, page in zip(texts, numbers, strict=True)))


@given(documents)
def test_no_text_is_lost(document: ParsedDocument) -> None:
    text, reached = document.text, 0
    for chunk in split(document):
        assert chunk.text == text[chunk.char_start : chunk.char_end]
        assert not text[reached : chunk.char_start].strip()
        reached = max(reached, chunk.char_end)
    assert not text[reached:].strip()


@given(documents)
def test_no_chunk_is_larger_than_allowed(document: ParsedDocument) -> None:
    for chunk in split(document):
        assert chunk.token_count == estimate_tokens(chunk.text) <= LIMIT


def test_neighbours_overlap_by_whole_sentences() -> None:
    sentences = [f"第{n}条规定学生应当遵守纪律。" for n in "一二三四五六七八九"]
    first, second, *_ = split(paragraphs("".join(sentences)), limit=40, overlap=16)
    shared = second.text[: first.char_end - second.char_start]
    assert shared in sentences


def test_chinese_is_cut_at_the_end_of_a_sentence() -> None:
    text = "学生应当按时缴费。" * 30
    assert all(chunk.text.endswith("。") for chunk in split(paragraphs(text)))


def test_heading_path_is_kept_from_the_outside_in() -> None:
    body = "Every student may borrow ten books for four weeks. " * 4
    chunks = split(parse_markdown(f"# Library\n\n{body}\n\n## Loans\n\n{body}\n\n# Canteen\n\n{body}\n".encode()))
    assert [chunk.heading for chunk in chunks] == ["Library", "Library › Loans", "Canteen"]


def test_table_and_code_that_fit_are_not_torn() -> None:
    table = "\n".join(f"| row {n} | value |" for n in range(8))
    code = "def f():\n\n    return 1\n\n\n" * 3
    text = "Every student may borrow ten books. " * 5
    document = ParsedDocument(
        blocks=(
            Block(text=text.strip()),
            Block(text=table, kind="table"),
            Block(text=text.strip()),
            Block(text=code.strip(), kind="code"),
        )
    )
    chunks = split(document)
    assert any(table in chunk.text for chunk in chunks)
    assert any(code.strip() in chunk.text for chunk in chunks)
