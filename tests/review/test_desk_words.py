"""What the desk's pages call workflows and times, and an answer's words without its markup."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from chat.review.labels import workflow_label
from chat.review.replay.replays import change_words
from chat.templatetags.review import seconds, unmarked
from retrieval.workflows import available_workflows


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("The nearest is [Rules (2025)](/documents/4f/).", "The nearest is Rules (2025)."),
        ("## Loans\n\n- **Ten** books [1]\n- `four` weeks", "Loans\n\nTen books [1]\nfour weeks"),
        ("| Kind | Days |\n1. Book\n> quoted", " Kind  Days \nBook\nquoted"),
        (r"Nearest: [a\_b\_c](/documents/4f/), 5 \* 3 and *x*", "Nearest: a_b_c, 5 * 3 and x"),
        ("2026 - a year, 3 * 4", "2026 - a year, 3  4"),
        ("", ""),
    ],
)
def test_an_answers_words_without_markup(markdown: str, words: str) -> None:
    assert unmarked(markdown) == words


@pytest.mark.parametrize(("ms", "said"), [(250, "250 ms"), (1400, "1.4 s"), (0, "0 ms"), (None, "–"), ("", "–")])
def test_a_time_for_people(ms: object, said: str) -> None:
    assert seconds(ms) == said


def test_every_workflow_has_a_name_for_people() -> None:
    with override("en"):
        assert all(workflow_label(name) != name for name in available_workflows())
        assert workflow_label("of_another_version") == "of another version"


def test_filters_are_called_in_the_readers_language() -> None:
    with override("zh-hant"):
        assert change_words({"filters": {"department": "HR", "tags": ["a", "b"]}}) == ["篩選 部門: HR, 標籤: a, b"]
