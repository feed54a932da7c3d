"""A reply that is wrapped in a fence as a whole is text; code in an answer stays code."""

from __future__ import annotations

import pytest

from retrieval.engine.text.fences import MAX_HELD, Unwrapper

LIST = "The deposit is EUR 300 [1].\n\n- Pay at the desk.\n- Keep the receipt."
CODE = "```\nmake run\n```\n\nThis starts the site [1]."
INNER = "Run this:\n\n```bash\nmake run\n```\n\nThen open the page."

WRAPPED = [
    (f"```markdown\n{LIST}\n```", LIST),
    (f"```md\n{LIST}\n```\n", LIST),
    (f"```\n{LIST}\n```", LIST),
    (f"\n```text\n{LIST}\n```", LIST),
    (f"~~~Markdown\n{LIST}\n~~~", LIST),
    (f"````markdown\n{INNER}\n````", INNER),
    (f"```markdown\n{INNER}\n```", INNER),
    (f"```markdown\n{LIST}", LIST),  # broken off
    ("```markdown 40p a page```", "40p a page"),
    ("```markdown\nPrices ```are``` here.\n```", "Prices ```are``` here."),
]
KEPT = [
    LIST,
    CODE,
    INNER,
    "```python\nprint(1)\n```",
    "```bash\nmake run\n```",
    "`make run` starts the site.",
    "```make run``` starts the site.",
    "~5 km from the station.",
    "```\n" + "row\n" * MAX_HELD,
    "```",
]


def cuttings(text: str) -> list[list[str]]:
    return [
        [text[at : at + size] for at in range(0, len(text), size)]
        for size in (1, 2, 3, 7, len(text))
    ]


def read(pieces: list[str]) -> str:
    unwrapper = Unwrapper()
    return "".join(unwrapper.feed(piece) for piece in pieces) + unwrapper.finish()


@pytest.mark.parametrize(("reply", "text"), WRAPPED)
def test_a_reply_in_a_fence_is_unwrapped_however_it_is_cut(reply: str, text: str) -> None:
    assert {read(pieces) for pieces in cuttings(reply)} == {text}


@pytest.mark.parametrize("reply", KEPT)
def test_any_other_reply_stays_as_it_is(reply: str) -> None:
    assert {read(pieces) for pieces in cuttings(reply)} == {reply}


def test_what_stands_in_a_named_fence_streams() -> None:
    unwrapper = Unwrapper()
    assert [unwrapper.feed(piece) for piece in ("```markdown\n", "The ", "deposit")] == [
        "",
        "The ",
        "deposit",
    ]
