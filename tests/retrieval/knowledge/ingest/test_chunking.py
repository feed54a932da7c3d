"""Chunks: nothing lost, nothing too large, cut where a reader would cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.text.quoting import estimate_tokens
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, Table, table_block
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.ingest.markup.markdown import parse_markdown
from retrieval.knowledge.ingest.parts import document_parts
from retrieval.knowledge.ingest.read_document import TextChunk

LIMIT, OVERLAP = 60, 12

words = (
    st.text("abc def. 规定，应当。！？;\n", min_size=1, max_size=400).map(str.strip).filter(bool)
)
block = st.builds(
    Block,
    text=words,
    kind=st.sampled_from(["paragraph", "paragraph", "heading", "table", "code"]),
    level=st.integers(1, 4),
    label=st.sampled_from(["Loans", "Fines", "总则"]),
    page=st.none(),
)
documents = st.lists(block, min_size=1, max_size=12).map(
    lambda blocks: ParsedDocument(blocks=tuple(blocks))
)


def split(
    document: ParsedDocument, *, limit: int = LIMIT, overlap: int = OVERLAP, table_limit: int = 0
) -> list[TextChunk]:
    chunker = Chunker(
        chunk_tokens=limit,
        overlap_tokens=overlap,
        count_tokens=estimate_tokens,
        table_tokens=table_limit,
    )
    return chunker.split(document)


def table(rows: int, *, caption: str = "", pages: tuple[int, ...] | None = None) -> Block:
    body = [(f"Boat {number}", f"{number * 7} euros") for number in range(rows)]
    grid = (("Boat", "Rate"), *body)
    return table_block(
        Table(rows=grid, head_rows=1, caption=caption, pages=pages),
        page=pages[0] if pages else None,
    )


def paragraphs(*texts: str, pages: Sequence[int | None] = ()) -> ParsedDocument:
    numbers = pages or [None] * len(texts)
    return ParsedDocument(
        blocks=tuple(Block(text=text, page=page) for text, page in zip(texts, numbers, strict=True))
    )


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
    chunks = split(
        parse_markdown(
            f"# Library\n\n{body}\n\n## Loans\n\n{body}\n\n# Canteen\n\n{body}\n".encode()
        )
    )
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


def test_no_chunk_begins_behind_an_abbreviation() -> None:
    sentence = "Der Antrag Nr. 7 geht bis 3. Mai an Hrn. Dr. med. Brandt, Zi. 12, 2. OG, im Haus."
    chunks = split(paragraphs(" ".join([sentence] * 12)), limit=60, overlap=24)
    assert len(chunks) > 2
    assert all(
        chunk.text.startswith("Der Antrag") and chunk.text.endswith("Haus.") for chunk in chunks
    )


# ------------------------------------------------------------------------------------------------ tables
def test_a_small_table_is_one_chunk_with_the_line_that_introduces_it() -> None:
    document = ParsedDocument(
        blocks=(Block(text="The rates:"), table(16), Block(text="Boats are returned by nine."))
    )
    first, second = split(document, table_limit=200)
    assert first.text == f"The rates:\n\n{document.blocks[1].text}"
    assert (first.table_rows, second.text) == (None, "Boats are returned by nine.")


def test_a_large_table_is_cut_between_rows_that_name_their_columns() -> None:
    document = ParsedDocument(blocks=(table(40, caption="Fees of 2026"),))
    chunks = split(document, table_limit=100)
    rows = [chunk.table_rows for chunk in chunks if chunk.table_rows]
    assert rows[0][0] == 1 and rows[-1][1:] == (40, 40)
    assert all(after[0] == before[1] + 1 for before, after in pairwise(rows))
    lines = [line for chunk in chunks for line in chunk.text.split("\n")]
    assert lines[2:] == [f"Boat: Boat {number}; Rate: {number * 7} euros" for number in range(40)]
    assert chunks[0].text.startswith("Fees of 2026\nBoat | Rate\n")
    assert {chunk.heading for chunk in chunks[1:]} == {"Fees of 2026"}


def test_rows_stand_on_their_own_pages() -> None:
    document = ParsedDocument(blocks=(table(40, pages=(1,) * 21 + (2,) * 20),))
    chunks = split(document, table_limit=100)
    assert (chunks[0].page, chunks[-1].page) == (1, 2)
    parts = document_parts(document)
    assert [part.page for part in parts] == [1, 2]
    assert document.text[parts[1].char_start :].startswith("Boat: Boat 20;")


def test_a_row_that_is_too_long_is_cut_as_well() -> None:
    grid = (("Boat", "Remark"), ("Canoe", "It leaks. " * 60), ("Kayak", "dry"))
    document = ParsedDocument(blocks=(table_block(Table(rows=grid, head_rows=1)),))
    chunks = split(document)
    assert all(chunk.token_count <= LIMIT for chunk in chunks)
    assert {chunk.table_rows for chunk in chunks} <= {None, (1, 1, 2), (1, 2, 2), (2, 2, 2)}


def test_slides_are_parts_of_their_own() -> None:
    parts = document_parts(paragraphs("One.", "Two.", "Three.", pages=[1, 1, 4]))
    assert [(part.number, part.page) for part in parts] == [(1, 1), (2, 4)]
