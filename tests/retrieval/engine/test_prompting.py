from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from retrieval.engine.prompting import BUILT_IN, PromptError, PromptLibrary


def test_text_is_split_into_system_and_user_and_filled() -> None:
    text = (
        '<!-- why\n---\n-->\nBe brief. {"json": 1}\n\n---\n\nQuestion: $query costs $$5\n---\nend\n'
    )
    prompt = PromptLibrary({"ask": text}).render("ask", query="Which $fee?")
    assert prompt.system == 'Be brief. {"json": 1}'
    assert prompt.user == "Question: Which $fee? costs $5\n---\nend"
    assert prompt.name == "ask"
    assert len(prompt.hash) == 12


def test_missing_variables_are_named() -> None:
    with pytest.raises(PromptError, match=r"ask\.md needs \$history, \$tone"):
        PromptLibrary({"ask": "$tone\n---\n$query $history"}).render("ask", query="x")


@pytest.mark.parametrize(
    ("language", "expected"),
    [("zh-hant", "zh"), ("zh", "zh"), ("en", "plain"), ("fr", "plain"), ("ZH-Hans", "zh")],
)
def test_language_falls_back_to_its_main_language_then_to_that_of_none(
    language: str, expected: str
) -> None:
    library = PromptLibrary({"ask": "plain\n---\nu", "ask.zh": "zh\n---\nu"})
    assert library.render("ask", language=language).system == expected


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"ask": "no marker"}, "no line ---"),
        ({"ask": "s\n---\ncosts 5$ now"}, "starts no variable"),
        ({}, "there is no prompt file"),
    ],
)
def test_malformed_prompts_are_refused_with_the_reason(own: dict[str, str], message: str) -> None:
    with pytest.raises(PromptError, match=message):
        PromptLibrary(own).render("ask")


def test_a_text_of_the_sites_own_replaces_the_shipped_one_and_has_another_hash() -> None:
    shipped = PromptLibrary().template("rewrite")
    own = PromptLibrary({"rewrite.en": "Other.\n---\n$question"}).template("rewrite")
    assert own.system.template == "Other." and own.hash != shipped.hash
    assert PromptLibrary({"rewrite.zh": "Other.\n---\nu"}).template("rewrite") == shipped


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "own.md"
    library = PromptLibrary(files={"rerank": str(path)})
    path.write_text("one\n---\nu")
    first = library.render("rerank")
    path.write_text("two\n---\nu")
    os.utime(path, ns=(1, 1))
    assert (first.system, library.render("rerank").system) == ("one", "two")


def test_a_file_that_a_setting_names_serves_in_every_language(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("Mine.\n---\n$question")
    library = PromptLibrary(files={"rerank": str(tmp_path / "own.md")})
    assert {
        library.render("rerank", language=name, question="x").system for name in ("en", "zh")
    } == {"Mine."}


# ------------------------------------------------------------------------------------------------ the files that ship
VARIABLES = {
    "history": "User: hello", "question": "What is the fee?", "passages": "[1] Fees\nIt is 5.", "variants": 3,
    "rows": "1. EUR 5", "columns": "- Price: a number",
    "sub_queries": 4, "query": "fee amount", "attempts": "1. fees", "tried": "fees", "missing": "amount",
    "max_tasks": 8, "other": "What does it cost?", "departments": "Library; HR", "documents": "1. Fees",
    "doc_types": "policy; form", "policy_years": "2024; 2025",
    "web": "no",
    "parts": "- the fee", "count": 5,
    "statements": "1. It is 5. [1]",
    "help": "I answer from documents.",
    "memories": "- What is the fee? → It is 4.", "answer": "It is 5 (1).", "routes": "direct_chunk_search, direct",
}  # fmt: skip
FILES = sorted(BUILT_IN.glob("*.md"))
ASKED_AFTER = 4  # lines at a prompt's end that hold the question: what is cut of too long a prompt is cut before them


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_prompt_renders(path: Path) -> None:
    name, language = path.stem.split(".")
    prompt = PromptLibrary().render(name, language=language, **VARIABLES)
    assert any(VARIABLES["question"] in line for line in prompt.user.splitlines()[-ASKED_AFTER:])
    assert "$" not in prompt.system + prompt.user


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_system_part_never_varies(path: Path) -> None:
    name, language = path.stem.split(".")
    assert not PromptLibrary().template(name, language=language).system.get_identifiers()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_quoted_material_is_declared_as_such(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for tag in ("passages", "conversation", "memories", "help", "answer"):
        assert text.count(f"</{tag}>") == (
            f"${'history' if tag == 'conversation' else tag}\n" in text
        )
        if f"</{tag}>" in text:
            assert f"<{tag}>" in text.split("\n---\n")[0]


def test_each_prompt_is_there_in_both_languages() -> None:
    names = {
        language: {path.stem.split(".")[0] for path in FILES if path.stem.endswith(language)}
        for language in ("en", "zh")
    }
    assert names["en"] == names["zh"]
    assert {"rewrite", "hyde", "judge", "generate"} <= names["en"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_writer_and_the_judge_begin_alike_as_far_as_the_passages(language: str) -> None:
    names = ("generate", "generate_or_refuse", "generate_in_any_case", "judge")
    prompts = [PromptLibrary().render(name, language=language, **VARIABLES) for name in names]
    assert len({prompt.system for prompt in prompts}) == 1
    assert len({prompt.user.split("</passages>")[0] for prompt in prompts}) == 1
    assert ["NO_ANSWER" in prompt.user for prompt in prompts] == [True, True, False, False]
    assert "NO_ANSWER" not in prompts[0].system


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_prompt_names_the_language_of_its_reply(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(
        r"(Answer|Reply|Write) in(:| (English|Chinese))|回答语言|用(中文|英文)回答", text
    )
