from __future__ import annotations

from django.conf import settings

from retrieval.engine.steps.context.compress import compress, compress_passages
from retrieval.engine.text.quoting import estimate_tokens, quote_source
from tests.retrieval.engine.steps.fakes import make_tools, scored

DEPOSIT = "How much is the deposit for a room in Lakeside hall?"
LONG = (
    "The halls were opened in 1970 by the mayor. They stand near the lake. The deposit for a room in Lakeside hall is "
    "EUR 300. It is paid back within 30 days. The bus runs every ten minutes. The kitchen is shared by six people. "
    "Bicycles are kept in the cellar. The gate is shut at night."
)


def excerpts(question: str, *texts: str, tokens: int = 10_000) -> list[str]:
    chosen = [scored(number, text, rerank=0.9) for number, text in enumerate(texts, start=1)]
    return [one.chunk.text for one in compress_passages(question, chosen, tokens=tokens)]


def test_the_sentence_that_answers_stays_with_its_neighbours() -> None:
    (kept,) = excerpts(DEPOSIT, LONG)
    assert "EUR 300" in kept
    assert "paid back within 30 days" in kept
    assert "Bicycles" not in kept
    assert " … " in kept or len(kept) < len(LONG)


def test_chinese_in_either_script_is_cut_alike() -> None:
    text = "学校建于1950年。校长奖学金每学年5000欧元。食堂在东门。图书馆八点开门。操场很大。宿舍有六层。"
    simplified = excerpts("校长奖学金每学年多少欧元？", text)
    assert simplified == excerpts("校長獎學金每學年多少歐元？", text)
    assert "5000欧元" in simplified[0]
    assert "操场很大" not in simplified[0]


def test_where_room_is_short_the_best_strips_of_all_passages_fill_it() -> None:
    second = (
        "The deposit for a room in Hilltop hall is EUR 250. "
        + "Nothing else is of interest here. " * 20
    )
    texts = (LONG + " " + LONG.replace("300", "310"), second)
    chosen = [scored(number, text, rerank=0.9) for number, text in enumerate(texts, start=1)]
    found = compress_passages(DEPOSIT, chosen, tokens=110)
    length = sum(
        estimate_tokens(quote_source(at, one.chunk)) for at, one in enumerate(found, start=1)
    )
    assert length <= 110
    assert "EUR 300" in found[0].chunk.text
    assert "EUR 250" in found[1].chunk.text


async def test_without_a_model_passages_stay_whole() -> None:
    deps, candidate = make_tools(settings.RAG), scored(1, LONG, rerank=0.9)
    assert await compress(deps, DEPOSIT, [candidate], room=None) == [candidate]
    assert deps.trace.steps[0].status == "skipped"


def test_a_row_keeps_the_head_of_its_table_and_a_sentence_its_heading() -> None:
    table = "| Borrower | Items |\n|---|---|\n" + "\n".join(
        f"| {letter * 5} | {letter} |" for letter in "pqrstuvwx"
    )
    (kept,) = excerpts("What is for vvvvv?", f"## Loans\n\n{table}")
    assert (
        kept
        == "## Loans\n\n| Borrower | Items |\n|---|---|\n…\n| uuuuu | u |\n| vvvvv | v |\n| wwwww | w |\n…"
    )


def test_code_is_never_cut() -> None:
    code = "```\nmake install. make run.\n\nmake test\n```"
    (kept,) = excerpts(DEPOSIT, f"{LONG}\n\nRun this. Then wait.\n\n{code}")
    assert kept.endswith(code)
