from __future__ import annotations

import os
from pathlib import Path

import pytest

from retrieval.prompting import PromptError, PromptLibrary


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_file_is_split_into_system_and_user_and_filled(tmp_path: Path) -> None:
    write(
        tmp_path, "ask.md", '<!-- why\n---\n-->\nBe brief. {"json": 1}\n\n---\n\nQuestion: $query costs $$5\n---\nend\n'
    )
    prompt = PromptLibrary(str(tmp_path)).render("ask", query="Which $fee?")
    assert prompt.system == 'Be brief. {"json": 1}'
    assert prompt.user == "Question: Which $fee? costs $5\n---\nend"
    assert prompt.name == "ask"
    assert len(prompt.hash) == 12


def test_missing_variables_are_named(tmp_path: Path) -> None:
    write(tmp_path, "ask.md", "$tone\n---\n$query $history")
    with pytest.raises(PromptError, match=r"ask\.md needs \$history, \$tone"):
        PromptLibrary(str(tmp_path)).render("ask", query="x")


@pytest.mark.parametrize(
    ("language", "expected"), [("zh-hant", "zh"), ("zh", "zh"), ("en", "plain"), ("fr", "plain"), ("ZH-Hans", "zh")]
)
def test_language_falls_back_to_its_main_language_then_to_the_plain_file(
    tmp_path: Path, language: str, expected: str
) -> None:
    write(tmp_path, "ask.md", "plain\n---\nu")
    write(tmp_path, "ask.zh.md", "zh\n---\nu")
    assert PromptLibrary(str(tmp_path)).render("ask", language=language).system == expected


def test_english_serves_where_there_is_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "ask.en.md", "english\n---\nu")
    assert PromptLibrary(str(tmp_path)).render("ask", language="zh-hant").system == "english"


@pytest.mark.parametrize(
    ("text", "message"),
    [("no marker", "no line ---"), ("s\n---\ncosts 5$ now", "starts no variable"), (None, "there is no prompt file")],
)
def test_malformed_files_are_refused_with_the_reason(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        write(tmp_path, "ask.md", text)
    with pytest.raises(PromptError, match=message):
        PromptLibrary(str(tmp_path)).render("ask")


def test_names_cannot_leave_the_folder() -> None:
    with pytest.raises(PromptError, match="small letters"):
        PromptLibrary().template("../errors")


def test_changed_file_is_read_anew_and_has_another_hash(tmp_path: Path) -> None:
    write(tmp_path, "ask.md", "one\n---\nu")
    library = PromptLibrary(str(tmp_path))
    first = library.render("ask")
    write(tmp_path, "ask.md", "two\n---\nu")
    os.utime(tmp_path / "ask.md", ns=(1, 1))
    second = library.render("ask")
    assert (first.system, second.system) == ("one", "two")
    assert first.hash != second.hash
