"""Pages of replays: order one or many, both answers side by side, a job with its table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from chat.models import AnswerReview, Message, Replay
from chat.review import labels
from chat.review.feedback_port import get_feedback
from chat.review.fields import FILTER_NAMES
from chat.review.filter_words import filters_said
from chat.review.improvements import improvements_of
from chat.review.pages import desk_page
from chat.review.replay.differences import source_differences, step_differences, text_differences
from chat.review.replay.replay_api import answers_chosen, replay_reading_log
from chat.review.replay.replay_data import batch_data, replay_data, replay_row
from chat.review.replay.replay_run import NO_REVISION, OPEN
from chat.review.replay.replay_words import change_words, option_label
from chat.review.replay.replays import (
    MAX_QUESTIONS,
    batch_get,
    batch_list,
    batch_summary,
    models_listed,
    replay_get,
    replay_list,
    replays_of,
    revisions_offered,
)
from chat.review.roles import DeskAccess
from ragsite.core.errors import NotFoundError
from ragsite.core.localized import localized
from retrieval.selectors import as_uuid
from retrieval.workflows import available_workflows

LISTED = 50
FIGURES = (
    ("first_token_ms", "ms"), ("total_ms", "ms"), ("llm_calls", ""), ("llm_rounds", ""), ("prompt_tokens", ""),
    ("completion_tokens", ""),
)  # fmt: skip
OPTIONS = ("rewrite", "hyde", "rerank", "web_search")
_DOCUMENT_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(/documents/[0-9a-f-]{36}/\)")
SHOWN_SCORES = ("dense", "bm25", "rerank", "boost", "final")


@desk_page()
def replays_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The jobs and the single replays, the latest first."""
    context = {
        "section": "review",
        "desk_part": "replays",
        "access": access,
        "batches": [_batch(row) for row in batch_list()[:LISTED]],
        "replays": [_row(row) for row in replay_list()[:LISTED]],
        "golden_sets": _golden_sets(access),
    }
    return render(request, "review/replays.html", context)


@desk_page(query=("answer", "answers", "golden", *FILTER_NAMES))
def replay_new_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The form. `answer`: of this one; `answers`: of these, their ids with commas between; `golden`: of a set, or *
    for all; else of the queue's answers."""
    target: dict[str, Any]
    back = reverse("review")
    if answer := request.GET.get("answer"):
        answers = Message.objects.select_related("reply_to").filter(reply_to__isnull=False)
        message = answers.filter(pk__in=filter(None, [as_uuid(answer)])).first()
        if message is None or message.reply_to is None:
            raise NotFoundError
        target, back = {"message_id": str(message.pk)}, reverse("review_answer", args=[message.pk])
        asked: dict[str, Any] = {
            "question": message.reply_to.text, "workflow": message.workflow, "model": message.model,
            "filters": message.request.get("filters", {}), "options": message.request.get("options", {}), "count": 1,
        }  # fmt: skip
    elif (golden := request.GET.get("golden")) is not None:
        target, back = {"golden": golden}, reverse("review_replays")
        set_name = None if golden == "*" else golden
        count = len(get_feedback().golden_questions(user=access.user, set_name=set_name, limit=MAX_QUESTIONS))
        asked = {"golden": golden, "count": count}
    elif picked := request.GET.get("answers"):
        ids = [key for text in picked.split(",")[:MAX_QUESTIONS] if (key := as_uuid(text))]
        found = set(Message.objects.filter(pk__in=ids, reply_to__isnull=False).values_list("pk", flat=True))
        target = {"message_ids": [str(key) for key in ids if key in found]}
        asked = {"count": len(target["message_ids"]), "picked": True}
    else:
        given = {name: request.GET[name] for name in FILTER_NAMES if request.GET.get(name)}
        chosen = answers_chosen(access=access, given=given, most=MAX_QUESTIONS + 1)
        target = {"answers": given}
        back = f"{back}?{urlencode(given)}" if given else back
        said = [(called, value) for _name, called, value in filters_said(given, access)]
        asked = {"said": said, "count": min(len(chosen), MAX_QUESTIONS), "more": len(chosen) > MAX_QUESTIONS}
    context = {
        "section": "review",
        "desk_part": "replays",
        "access": access,
        "asked": asked,
        "back": back,
        "workflows": available_workflows(),
        "models": async_to_sync(models_listed)(),
        "revisions": revisions_offered(),
        "options": [(name, option_label(name)) for name in OPTIONS],
        "no_revision": NO_REVISION,
        "most": MAX_QUESTIONS,
        "boot": {"target": target},
    }
    return render(request, "review/replay_new.html", context)


@desk_page()
def replay_page(request: HttpRequest, *, access: DeskAccess, replay_id: UUID) -> HttpResponse:
    """Both answers side by side."""
    replay = replay_get(replay_id)
    replay_reading_log(access=access, replay=replay)
    data = replay_data(replay, reader=access.user)
    of_answer = replay.message_id if AnswerReview.objects.filter(message=replay.message_id).exists() else None
    context = {
        "section": "review",
        "desk_part": "replays",
        "access": access,
        "replay": replay,
        "row": _row(replay),
        "data": data,
        "open": replay.status in OPEN,
        "improvements": improvements_of(of_answer, access) if of_answer else [],
        "comparison": comparison(data["original"], data["replay"]) if data["original"] and data["replay"] else None,
        "boot": {"replay": str(replay.pk), "open": replay.status in OPEN},
    }
    return render(request, "review/replay.html", context)


@desk_page()
def batch_page(request: HttpRequest, *, access: DeskAccess, batch_id: UUID) -> HttpResponse:
    """A job: progress, summary, a row of each question."""
    batch = batch_get(batch_id)
    data, summary = batch_data(batch), batch_summary(batch)
    context = {
        "section": "review",
        "desk_part": "replays",
        "access": access,
        "batch": batch,
        "name": labels.batch_name(batch.name),
        "data": data,
        "change": change_words(batch.change),
        "percent": round(100 * data["progress"]),
        "open": data["ended"] < data["total"],
        "summary": summary,
        "moves": [(_moved(move), count) for move, count in summary["decisions"].items()],
        "replays": [_row(row) for row in replays_of(batch)[:MAX_QUESTIONS]],
        "boot": {"batch": str(batch.pk), "open": data["ended"] < data["total"]},
    }
    return render(request, "review/replay_batch.html", context)


# ------------------------------------------------------------------------------------------------ what is shown
def comparison(original: Mapping[str, Any], replay: Mapping[str, Any]) -> dict[str, Any]:
    """Both as `message_data`: rows for the page's tables."""
    sources = source_differences(original, replay)
    old, new = (data.get("usage") or {} for data in (original, replay))
    return {
        "decisions": [labels.decision_label(data["decision"] or "") for data in (original, replay)],
        "statuses": [labels.answer_status(data["status"]) for data in (original, replay)],
        "words": text_differences(_words(original["answer"]), _words(replay["answer"])),
        "same_text": original["answer"] == replay["answer"],
        "sources": [row | {"scores": _scores(row["scores"]), "moved_down": -row["moved"]} for row in sources],
        "both": sum(row["in"] == "both" for row in sources),
        "steps": [row | {"label": labels.step_label(row["name"])} for row in step_differences(original, replay)],
        "figures": [
            {"name": name, "unit": unit, "original": old.get(name), "replay": new.get(name),
             "change": _change(old.get(name), new.get(name))}
            for name, unit in FIGURES
        ],
        "fallbacks": [
            [{"step": labels.step_label(entry["step"]), "reason": entry["reason"]} for entry in data["degraded"]]
            for data in (original, replay)
        ],
    }  # fmt: skip


def _words(answer: str) -> str:
    """Without the addresses of the documents that it names."""
    return _DOCUMENT_LINK.sub(r"\1", answer)


def _scores(scores: Mapping[str, Mapping[str, float] | None]) -> list[dict[str, Any]]:
    sides = [scores["original"] or {}, scores["replay"] or {}]
    return [
        {"name": labels.score_label(name), "original": sides[0].get(name), "replay": sides[1].get(name)}
        for name in SHOWN_SCORES
        if any(name in side for side in sides)
    ]


def _moved(move: str) -> str:
    """ANSWER → NO_ANSWER, for people; what stayed is said once."""
    before, after = (labels.decision_label(name) for name in move.split(" → "))
    return before if before == after else f"{before} → {after}"


def _change(old: int | None, new: int | None) -> int | None:
    return None if old is None or new is None else new - old


def _row(replay: Replay) -> dict[str, Any]:
    summary = replay.summary
    return replay_row(replay) | {
        "status_text": replay.get_status_display(),
        "change_words": change_words(replay.change),
        "decisions": [labels.decision_label(value) if value else "–" for value in summary.get("decision", ())],
        "error_text": str(localized(replay.error["content"], replay.wordings)) if replay.error else "",
        "same_sources": _percent(summary.get("same_sources")),
        "same_words": _percent(summary.get("same_words")),
        "made_at": replay.created_at,
    }


def _percent(share: float | None) -> int | None:
    return None if share is None else round(100 * share)


def _batch(batch: Any) -> dict[str, Any]:
    data = batch_data(batch)
    return data | {
        "name": labels.batch_name(batch.name),
        "percent": round(100 * data["progress"]),
        "change_words": change_words(batch.change),
        "made_at": batch.created_at,
    }


def _golden_sets(access: DeskAccess) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in get_feedback().golden_sets(user=access.user)]
