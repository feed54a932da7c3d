"""The tokens that calls of models took, added to the rows of a person and a day: one statement for all calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.db.models.signals import pre_delete
from django.utils import timezone

from chat.models import UsageDay
from ragsite.core.text import clean_text
from retrieval.engine.model_calls import calls_listed
from retrieval.engine.usage import ModelCall

MODEL_CHARS = 200
# Django's own upsert can only overwrite; two answers that end at once must add up.
ADD = (
    "INSERT INTO chat_usageday (user_id, day, model, prompt_tokens, completion_tokens) VALUES {rows}"
    " ON CONFLICT {unique} DO UPDATE SET"
    " prompt_tokens = chat_usageday.prompt_tokens + EXCLUDED.prompt_tokens,"
    " completion_tokens = chat_usageday.completion_tokens + EXCLUDED.completion_tokens"
)
OF_A_PERSON = "(user_id, day, model)"
OF_NOBODY = "(day, model) WHERE user_id IS NULL"


def connect() -> None:
    """Once, when the site starts."""
    pre_delete.connect(_on_person_pre_delete, sender=User, dispatch_uid="chat.runs.spending")


def tokens_count(calls: Iterable[ModelCall], *, user_id: int | None) -> None:
    """Of chat models, on today's row. user_id: whose question it was, who exists; None: the site's own work."""
    prompt: Counter[str] = Counter()
    completion: Counter[str] = Counter()
    for call in calls:
        if call.kind == "chat":
            model = clean_text(call.model)[:MODEL_CHARS]
            prompt[model] += call.prompt_tokens
            completion[model] += call.completion_tokens
    today = timezone.localdate()
    # In one order everywhere, so that answers which end at once never wait for each other in a circle.
    rows = [
        (user_id, today, model, prompt[model], completion[model])
        for model in sorted(prompt)
        if prompt[model] or completion[model]
    ]
    _add(rows, unique=OF_NOBODY if user_id is None else OF_A_PERSON)


def tokens_count_without_answer(calls: Sequence[ModelCall], *, user_id: int | None) -> None:
    """As `tokens_count`, where no row of an answer holds the person in place: the account may be gone."""
    if calls and user_id is not None and not User.objects.filter(pk=user_id).exists():
        user_id = None
    tokens_count(calls, user_id=user_id)


@contextmanager
def site_tokens_counted() -> Iterator[None]:
    """The calls within are the site's own work. Call it where the database may be called; so may its end."""
    with calls_listed() as calls:
        try:
            yield
        finally:
            tokens_count(calls, user_id=None)


def _add(rows: list[tuple[Any, ...]], *, unique: str) -> None:
    if not rows:
        return
    places = ", ".join(["(%s, %s, %s, %s, %s)"] * len(rows))
    adapted = [
        (user, connection.ops.adapt_datefield_value(day), *figures) for user, day, *figures in rows
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            ADD.format(rows=places, unique=unique), [value for row in adapted for value in row]
        )


def _on_person_pre_delete(sender: type[Model], instance: User, **_: Any) -> None:
    """What an account used stays in the site's sums, without a name."""
    own = UsageDay.objects.filter(user=instance).order_by("day", "model")
    for row in own.iterator(chunk_size=500):
        figures = (None, row.day, row.model, row.prompt_tokens, row.completion_tokens)
        _add([figures], unique=OF_NOBODY)
