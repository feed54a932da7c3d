from pathlib import Path

import pytest

from retrieval.prompting import BUILT_IN, PromptLibrary

VARIABLES = {
    "history": "User: hello", "question": "What is the fee?", "passages": "[1] Fees\nIt is 5.", "variants": 3,
    "rows": "1. EUR 5",
    "sub_queries": 4, "query": "fee amount", "attempts": "1. fees", "tried": "fees", "missing": "amount",
    "max_tasks": 8, "departments": "Library; HR", "documents": "1. Fees",
    "doc_types": "policy; form", "policy_years": "2024; 2025",
    "web": "no",
    "parts": "- the fee", "count": 5,
    "language_name": "English", "statements": "1. It is 5. [1]",
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
    for tag in ("passages", "conversation", "memories", "answer"):
        assert text.count(f"</{tag}>") == (f"${'history' if tag == 'conversation' else tag}\n" in text)
        if f"</{tag}>" in text:
            assert f"<{tag}>" in text.split("\n---\n")[0]


def test_each_prompt_is_there_in_both_languages() -> None:
    names = {
        language: {path.stem.split(".")[0] for path in FILES if path.stem.endswith(language)}
        for language in ("en", "zh")
    }
    assert names["en"] == names["zh"]
    assert {"rewrite", "hyde", "judge", "generate"} <= names["en"]
