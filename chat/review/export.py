"""Answers as a file of any length: read and sent in batches, so that memory stays the same."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Prefetch

from chat.feedback import Rating, get_feedback
from chat.models import AnswerReview, Message, Source
from chat.review.data import review_data
from chat.review.queue import answers_page, answers_queue, with_details
from chat.review.roles import DeskAccess, desk_access
from ragsite.core.database import database_call, own_database_thread
from ragsite.core.text import spreadsheet_cell

BATCH = 500
COLUMNS = (
    "message_id",
    "session_id",
    "created_at",
    "user",
    "question",
    "answer",
    "decision",
    "status",
    "workflow",
    "model",
    "rating",
    "rating_tags",
    "comments",
    "reasons",
    "state",
    "assignee",
    "labels",
    "note",
    "sources",
    "llm_calls",
    "prompt_tokens",
    "completion_tokens",
    "first_token_ms",
    "total_ms",
)
USAGE = ("llm_calls", "prompt_tokens", "completion_tokens", "first_token_ms", "total_ms")
BYTE_ORDER_MARK = "\ufeff"  # spreadsheets read a file without it in the computer's own encoding
_E_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
MASK = "…"
LEAST_NAME = 4  # characters of a name that is masked: shorter ones stand in other words


async def export_lines(
    *, access: DeskAccess, chosen: Mapping[str, Any], as_csv: bool, with_names: bool
) -> AsyncIterator[str]:
    """The file's pieces, each of BATCH answers. It ends where the role is taken away meanwhile."""
    if as_csv:
        yield BYTE_ORDER_MARK + _csv([COLUMNS])
    cursor = ""
    while True:
        async with (
            own_database_thread()
        ):  # not around a `yield`: the reader may leave in another context
            rows, cursor = await database_call(
                _batch, access=access, chosen=chosen, cursor=cursor, names=with_names
            )
        if rows:
            yield _csv(map(_cells, rows)) if as_csv else "".join(map(_json_line, rows))
        if not cursor:
            return


def _batch(
    *, access: DeskAccess, chosen: Mapping[str, Any], cursor: str, names: bool
) -> tuple[list[dict[str, Any]], str]:
    access = desk_access(
        User.objects.get(pk=access.user.pk), "export", *(("names",) if names else ())
    )
    cited = Prefetch(
        "message__sources", queryset=Source.objects.filter(cited=True).only("message_id", "title")
    )
    answers = with_details(answers_queue(access=access, chosen=chosen)).prefetch_related(cited)
    page, _, after = answers_page(
        answers, sort=chosen.get("sort", "newest"), size=BATCH, after=cursor
    )
    rated = get_feedback().with_ratings(
        Message.objects.filter(pk__in=[row.message_id for row in page]).only("pk")
    )
    ratings: dict[UUID, list[Rating]] = {message.pk: message.shown_ratings for message in rated}  # type: ignore[attr-defined]
    return [
        _data(row, ratings.get(row.message_id, []), access=access, names=names) for row in page
    ], after


def _data(
    row: AnswerReview, ratings: Sequence[Rating], *, access: DeskAccess, names: bool
) -> dict[str, Any]:
    message = row.message
    question = row.message.reply_to
    usage = message.usage if isinstance(message.usage, dict) else {}
    texts = {
        "question": question.text if question else "",
        "answer": message.text,
        "note": row.note,
    }
    titles = list(dict.fromkeys(source.title for source in message.sources.all()))
    comments = [rating.comment for rating in ratings if rating.comment]
    if not names:
        masked = _names(row.user)
        texts = {name: anonymised(text, masked) for name, text in texts.items()}
        titles = [anonymised(title, masked) for title in titles]
        comments = [anonymised(comment, masked) for comment in comments]
    data = review_data(row, access=access, offered=set()) | {
        "user": row.user.get_username() if names else None,
        "rating_tags": sorted({tag for rating in ratings for tag in rating.tags}),
        "comments": comments,
        "sources": titles,
        **{name: usage.get(name) for name in USAGE},
        **texts,
    }
    return {name: data[name] for name in COLUMNS}


# ------------------------------------------------------------------------------------------------ names
def anonymised(text: str, names: Iterable[str] = ()) -> str:
    """Without e-mail addresses and these names. What else people wrote of themselves stays in it."""
    text = _E_MAIL.sub(MASK, text)
    for name in names:
        text = name_pattern(name).sub(MASK, text)
    return text


def name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(name), re.IGNORECASE)


def _names(user: User) -> list[str]:
    """The longest first."""
    names = {user.get_username(), user.get_full_name(), user.first_name, user.last_name}
    return sorted((name for name in names if len(name) >= LEAST_NAME), key=len, reverse=True)


# ------------------------------------------------------------------------------------------------ forms
def _json_line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False) + "\n"


def _cells(data: dict[str, Any]) -> list[Any]:
    return [_cell(value) for value in data.values()]


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "; ".join(value)
    return spreadsheet_cell(value) if isinstance(value, str) else value


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()
