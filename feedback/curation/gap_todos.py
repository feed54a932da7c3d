"""Knowledge gaps as to-dos: found by clustering, kept by their questions, worked on by curators.

    unanswered questions ─► clusters ─► the gap that most of a cluster's wordings are in, or a new one

A wording that has come into a gap stays in it, whatever cluster it falls into later; so a gap keeps its assignee, note
and history while people go on asking. A closed gap is reopened when its subject is asked and not answered again.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from chat.models import Message, Replay
from chat.review.replay.replay_run import OPEN
from chat.review.replay.replays import batch_create, replays_queue
from chat.review.roles import DeskAccess, desk_access, people_at_the_desk
from feedback.curation import gap_selectors
from feedback.curation.gap_letters import TODO, gap_tell
from feedback.curation.gap_selectors import unanswered_questions
from feedback.curation.gaps import Gap, Unanswered, find_clusters
from feedback.models import GapDocument, GapEvent, GapQuestion, GapRun, KnowledgeGap
from ragsite.core.errors import AppError, ConflictError, InvalidInputError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.models import Collection, Document
from retrieval.selectors import collection_named
from retrieval.services.write_lease import lease_release, lease_take, space_lease

LEASE = "knowledge gaps"
LEASE_S = 120.0
TREND_DAYS = 30
ROWS_AT_ONCE = 500
MAX_NOTE_CHARS = 4000
ASKED_AGAIN = 200  # wordings of a gap at once, the most asked first
FRESH_S = 120  # within which a process does not look for new questions again
FRESH = "feedback.gaps.fresh"
NOTHING = UUID(int=0)
Kind = GapEvent.Kind
State = KnowledgeGap.State

logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ find
def gaps_refresh_if_due() -> None:
    """What a page shows is two minutes old at most."""
    if cache.add(FRESH, True, FRESH_S):
        gaps_refresh()
    else:
        gap_results_take()


def gaps_refresh() -> int:
    """Put the newest unanswered questions into their gaps, count these anew, and take results in. Returns how many gaps
    are new; 0 where another process is at it."""
    lease = space_lease(LEASE, seconds=LEASE_S)
    if not lease_take(lease):
        return 0
    try:
        return _refresh()
    except IntegrityError:  # a conversation or a gap was deleted in this moment
        logger.info("knowledge gaps: something was deleted meanwhile; the next round goes on")
        return 0
    finally:
        lease_release(lease)


def _refresh() -> int:
    since = timezone.now() - timedelta(days=gap_selectors.GAP_DAYS)
    asked = list(unanswered_questions(since, gap_selectors.GAP_QUESTIONS))
    clusters = find_clusters(asked, overlap=gap_selectors.GAP_OVERLAP, cosine=gap_selectors.GAP_COSINE)
    if len(asked) >= gap_selectors.GAP_QUESTIONS:  # older ones were not looked at
        since = min(question.at for question in asked)
    _forget_those_answered(since, {question.message for question in asked})
    collections = {gap.collection: _collection(gap.collection) for gap, _ in clusters}
    scopes = {name: _scope(name, found) for name, found in collections.items()}
    gap_of = {
        (scope, key): gap
        for scope, key, gap in GapQuestion.objects.filter(scope__in=set(scopes.values()))
        .order_by()
        .values_list("scope", "key", "gap")
        .distinct()
    }
    new = 0
    for cluster, members in clusters:
        new += _place(cluster, members, scopes[cluster.collection], collections[cluster.collection], gap_of)
    _results_align()
    gaps_recount()
    gap_results_take()
    return new


def _collection(name: str) -> Collection | None:
    try:
        return collection_named(name) if name else None
    except AppError:  # not there any more, or the attachments of a conversation
        return None


def _scope(name: str, collection: Collection | None) -> str:
    return str(collection.pk) if collection else f"name:{name}"[:300] if name else ""


def wording_key(question: Unanswered) -> str:
    return hashlib.blake2b(question.key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@transaction.atomic
def _place(
    cluster: Gap, members: Sequence[Unanswered], scope: str, collection: Collection | None,
    gap_of: dict[tuple[str, str], int],
) -> int:  # fmt: skip
    """Each wording into the gap that it is in, new ones into that of most of the others. Returns 1 for a new gap."""
    keys = [wording_key(question) for question in members]
    known = Counter(gap_of[scope, key] for key in keys if (scope, key) in gap_of)
    made = 0
    if known:
        home = min(known, key=lambda gap: (-known[gap], gap))
    else:
        gap = KnowledgeGap.objects.create(
            scope=scope, collection=collection, leader=keys[0], newest_at=cluster.last_seen
        )
        GapEvent.objects.create(gap=gap, kind=Kind.FOUND)
        home, made = gap.pk, 1
    for key in keys:
        gap_of.setdefault((scope, key), home)
    rows = [
        GapQuestion(
            gap_id=gap_of[scope, key],
            message_id=question.message or NOTHING,
            scope=scope,
            key=key,
            text=question.text[:1000],
            at=question.at,
            no_answer="no_answer" in question.reasons,
            badly_rated="badly_rated" in question.reasons,
            failed="failed" in question.reasons,
        )
        for key, question in zip(keys, members, strict=True)
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        batch = rows[start : start + ROWS_AT_ONCE]
        there = set(Message.objects.filter(pk__in=[row.message_id for row in batch]).values_list("pk", flat=True))
        GapQuestion.objects.bulk_create(
            [row for row in batch if row.message_id in there],
            update_conflicts=True,
            unique_fields=["message", "scope"],
            update_fields=["no_answer", "badly_rated", "failed"],
        )
    return made


def _results_align() -> None:
    """All rows of a wording have its result; one that was not answered again since has none any more."""
    fresh = GapQuestion.objects.filter(gap__asked_again__gt=0, answered=None).order_by()
    for row in list(fresh.values("gap", "key").annotate(newest=Max("at"))):
        wording = GapQuestion.objects.filter(gap=row["gap"], key=row["key"])
        asked = wording.filter(answered__isnull=False).order_by("-asked_again_at").first()
        if asked is None or asked.asked_again_at is None:
            continue
        if asked.asked_again_at < row["newest"]:
            wording.update(answered=None, asked_again_at=None, replay=None)
        else:
            wording.update(answered=asked.answered, asked_again_at=asked.asked_again_at, replay=asked.replay_id)


def _forget_those_answered(since: Any, still: set[UUID | None]) -> None:
    """A rating that was taken back, an answer that was written anew: these are no questions of a gap any more."""
    rows = GapQuestion.objects.filter(at__gte=since).values_list("pk", "message_id")
    gone = [pk for pk, message in rows.iterator(chunk_size=2000) if message not in still]
    for start in range(0, len(gone), ROWS_AT_ONCE):
        GapQuestion.objects.filter(pk__in=gone[start : start + ROWS_AT_ONCE]).delete()


def gaps_recount(gap_ids: Iterable[int] | None = None) -> None:
    """Their figures from their rows. Gaps without questions that nobody has worked on go; closed ones that were asked
    again are reopened."""
    gaps = KnowledgeGap.objects.all() if gap_ids is None else KnowledgeGap.objects.filter(pk__in=list(gap_ids))
    now = timezone.now()
    recent, earlier = now - timedelta(days=TREND_DAYS), now - timedelta(days=2 * TREND_DAYS)
    rows = GapQuestion.objects.filter(gap__in=gaps.order_by().values("pk")).order_by().values("gap")
    figures: dict[int, dict[str, Any]] = {
        row["gap"]: {name: value for name, value in row.items() if name != "gap"}
        for row in rows.annotate(
            questions=Count("pk"),
            people=Count("message__session__user", distinct=True),
            recent=Count("pk", filter=Q(at__gte=recent)),
            earlier=Count("pk", filter=Q(at__gte=earlier, at__lt=recent)),
            wordings=Count("key", distinct=True),
            asked_again=Count("key", distinct=True, filter=Q(answered__isnull=False)),
            answered=Count("key", distinct=True, filter=Q(answered=True)),
            newest_at=Max("at"),
        )
    }
    nothing: dict[str, Any] = {
        "questions": 0,
        "people": 0,
        "recent": 0,
        "earlier": 0,
        "wordings": 0,
        "asked_again": 0,
        "answered": 0,
    }
    empty: list[int] = []
    for gap in gaps.iterator(chunk_size=1000):
        found = figures.get(gap.pk, nothing)
        changed = [name for name, value in found.items() if getattr(gap, name) != value]
        if gap.pk not in figures:
            empty.append(gap.pk)
        for name in changed:
            setattr(gap, name, found[name])
        if changed:
            gap.save(update_fields=changed)
        if gap.state == State.CLOSED and found["questions"] and gap.newest_at > gap.state_at:
            gap_reopen(gap, KnowledgeGap.Reopened.ASKED)
    untouched = KnowledgeGap.objects.filter(pk__in=empty, state=State.OPEN, assignee=None, note="", due=None)
    untouched.exclude(events__in=GapEvent.objects.exclude(kind=Kind.FOUND)).delete()


@transaction.atomic
def gap_reopen(gap: KnowledgeGap, why: str) -> None:
    """By the site itself; the list and the gap's page say why."""
    reopened = KnowledgeGap.objects.filter(pk=gap.pk, state=State.CLOSED).update(
        state=State.OPEN, state_by=None, state_at=timezone.now(), reopened=why
    )
    if reopened:
        GapEvent.objects.create(gap=gap, kind=Kind.REOPENED, detail={"why": why})
        gap_tell(gap, by=None, again=True)


# ------------------------------------------------------------------------------------------------ work
@transaction.atomic
def gap_mark(*, access: DeskAccess, gap: KnowledgeGap, changes: Mapping[str, Any]) -> KnowledgeGap:
    """changes: any of `state`, `assignee` (a user name, "" for nobody), `note`, `due` (a day, None). What differs is
    kept in the gap's history. Raises InvalidInputError."""
    access.require("curate")
    gap = KnowledgeGap.objects.select_for_update(of=("self",)).select_related("assignee").get(pk=gap.pk)
    if gap.merged_into_id:
        raise GapMergedError
    whose, was = gap.assignee_id, gap.state
    if "state" in changes and changes["state"] != gap.state:
        if changes["state"] not in State.values:
            raise InvalidInputError(fields={"state": [worded("There is no such state; choose another one.")]})
        _event(access, gap, Kind.STATE, gap.state, changes["state"])
        gap.state, gap.state_by, gap.state_at, gap.reopened = changes["state"], access.user, timezone.now(), ""
    if "assignee" in changes:
        assignee = _assignee(changes["assignee"])
        before = gap.assignee.get_username() if gap.assignee else ""
        after = assignee.get_username() if assignee else ""
        if before != after:
            _event(access, gap, Kind.ASSIGNEE, before, after)
            gap.assignee = assignee
            if assignee and gap.state == State.OPEN:
                _event(access, gap, Kind.STATE, gap.state, State.IN_WORK)
                gap.state, gap.state_by, gap.state_at = State.IN_WORK, access.user, timezone.now()
    if "note" in changes:
        note = clean_text(changes["note"]).strip()
        if len(note) > MAX_NOTE_CHARS:
            raise InvalidInputError(fields={"note": [worded("Use at most {most} characters.", most=MAX_NOTE_CHARS)]})
        if note != gap.note:
            _event(access, gap, Kind.NOTE, gap.note, note)
            gap.note = note
    if "due" in changes and changes["due"] != gap.due:
        _event(access, gap, Kind.DUE, _day(gap.due), _day(changes["due"]))
        gap.due = changes["due"]
    gap.save(update_fields=["state", "state_by", "state_at", "reopened", "assignee", "note", "due"])
    if gap.state in TODO and gap.assignee_id != whose:
        gap_tell(gap, by=access.user)
    elif gap.state in TODO and was not in TODO:
        gap_tell(gap, by=access.user, again=True)
    return gap


class GapMergedError(ConflictError):
    message = worded("It was merged into another gap; work on that one, or split them again.")


@transaction.atomic
def gap_merge(*, access: DeskAccess, gap: KnowledgeGap, into: KnowledgeGap) -> KnowledgeGap:
    """Both are one to-do: `gap`'s wordings go to `into`, with those of gaps that were merged into it before. It keeps
    its state, note and history for `gap_split`. Raises InvalidInputError, GapMergedError."""
    access.require("curate")
    if gap.pk == into.pk:
        raise InvalidInputError(fields={"into": [worded("Choose another gap.")]})
    locked = KnowledgeGap.objects.select_for_update(of=("self",)).order_by("pk").in_bulk([gap.pk, into.pk])
    if any(one.merged_into_id for one in locked.values()):
        raise GapMergedError
    gap.rows.filter(merged_from=None).update(merged_from=gap)
    gap.rows.update(gap=into)
    KnowledgeGap.objects.filter(merged_into=gap).update(merged_into=into)
    KnowledgeGap.objects.filter(pk=gap.pk).update(merged_into=into)
    for one in (gap, into):
        _event(access, one, Kind.MERGED, str(gap.pk), str(into.pk))
    gaps_recount([gap.pk, into.pk])
    return into


@transaction.atomic
def gap_split(*, access: DeskAccess, gap: KnowledgeGap) -> KnowledgeGap:
    """Undo it: its wordings come back, also as asked since. Raises ConflictError where it is merged into none."""
    access.require("curate")
    gap = KnowledgeGap.objects.select_for_update(of=("self",)).get(pk=gap.pk)
    home = gap.merged_into_id
    if home is None:
        raise ConflictError(worded("This gap is merged into no other."))
    there = GapQuestion.objects.filter(gap=home)
    wordings = set(there.filter(merged_from=gap).order_by().values_list("scope", "key").distinct())
    keys = sorted({key for _, key in wordings})
    for start in range(0, len(keys), ROWS_AT_ONCE):
        rows = there.filter(key__in=keys[start : start + ROWS_AT_ONCE]).values_list("pk", "scope", "key")
        ids = [pk for pk, scope, key in rows if (scope, key) in wordings]
        for first in range(0, len(ids), ROWS_AT_ONCE):
            batch = ids[first : first + ROWS_AT_ONCE]
            GapQuestion.objects.filter(pk__in=batch).update(gap=gap, merged_from=None)
    gap.merged_into = None
    gap.save(update_fields=["merged_into"])
    for one in (gap.pk, home):
        _event(access, KnowledgeGap(pk=one), Kind.SPLIT, str(home), str(gap.pk))
    gaps_recount([gap.pk, home])
    return gap


@transaction.atomic
def gap_document_add(*, access: DeskAccess, gap: KnowledgeGap, document: Document, close: bool) -> GapDocument:
    """A document that should answer the gap's questions. They are asked again as soon as it is ready (at once where it
    is); close: the gap is closed with it, and reopened where some are not answered then."""
    access.require("curate")
    if gap.merged_into_id:
        raise GapMergedError
    added, is_new = GapDocument.objects.get_or_create(gap=gap, document=document, defaults={"added_by": access.user})
    if not is_new:  # once more: its questions are to be asked again
        GapDocument.objects.filter(pk=added.pk).update(asked=False, added_by=access.user)
    _event(access, gap, Kind.DOCUMENT, "", str(document.pk))
    if close:
        gap_mark(access=access, gap=gap, changes={"state": State.CLOSED})
    elif gap.state == State.OPEN:
        gap_mark(access=access, gap=gap, changes={"state": State.IN_WORK})
    if document.status == Document.Status.READY:
        transaction.on_commit(lambda: gap_document_ready(document.pk), robust=True)
    return added


def gap_document_ready(document_id: UUID) -> None:
    """Ask the questions of the gaps that it was added for, in the name of who added it."""
    waiting = GapDocument.objects.filter(document=document_id, asked=False)
    waiting = waiting.select_related("gap__merged_into", "added_by")
    for added in list(waiting):
        if not GapDocument.objects.filter(pk=added.pk, asked=False).update(asked=True) or added.added_by is None:
            continue
        try:
            gap_ask_again(access=desk_access(added.added_by, "curate"), gap=added.gap.merged_into or added.gap)
        except AppError as error:  # no right any more, or too many replays: a person asks again by hand
            logger.info("gap %s is not asked again by itself: %s", added.gap_id, error)


def gap_ask_again(*, access: DeskAccess, gap: KnowledgeGap) -> GapRun:
    """Its wordings, the most asked first, each by its newest question, as its asker may search. A worker does it.

    Raises InvalidInputError where none is left, TooManyReplaysError.
    """
    access.require("curate")
    wordings = (
        gap.rows.order_by()
        .values("key")
        .annotate(asked=Count("pk"), newest=Max("at"))
        .order_by("-asked", "-newest", "key")[:ASKED_AGAIN]
    )
    newest = {row["key"]: row["newest"] for row in wordings}
    found = gap.rows.filter(key__in=list(newest), at__in=list(newest.values())).order_by("pk")
    messages = {key: message for key, at, message in found.values_list("key", "at", "message") if newest[key] == at}
    with transaction.atomic():
        asked = [messages[key] for key in newest if key in messages]
        batch = batch_create(access=access, name=f"Knowledge gap {gap.pk}", message_ids=asked, change={})
        run = GapRun.objects.create(gap=gap, batch=batch)
        _event(access, gap, Kind.ASKED, "", str(batch.pk))
    replays_queue()
    return run


def gap_results_take() -> None:
    """What replays of gaps have found since the last look. A closed gap of which some question is not answered is
    reopened when all were asked."""
    for run in GapRun.objects.filter(taken=False).select_related("gap__merged_into").order_by("pk")[:100]:
        replays = run.batch.replays
        still = replays.filter(status__in=OPEN).exists()  # read first: what ends meanwhile is taken next time
        rows = replays.filter(status=Replay.Status.COMPLETE).values_list("pk", "message", "summary", "finished_at")
        with transaction.atomic():
            gap = run.gap.merged_into or run.gap
            _take(gap, list(rows))
            if not still:
                GapRun.objects.filter(pk=run.pk).update(taken=True)
        gaps_recount([gap.pk])
        if not still:
            _judge(run, gap.pk, {message for _, message, _, _ in rows})


def _take(gap: KnowledgeGap, rows: Sequence[tuple[UUID, UUID, dict[str, Any], Any]]) -> None:
    key_of = dict(gap.rows.filter(message__in=[message for _, message, _, _ in rows]).values_list("message", "key"))
    for replay, message, summary, finished in rows:
        if key := key_of.get(message):
            answered = bool((summary.get("supported") or [False, False])[1])
            older = Q(asked_again_at=None) | Q(asked_again_at__lt=finished)
            gap.rows.filter(older, key=key, at__lte=finished).update(
                answered=answered, asked_again_at=finished, replay=replay
            )


def _judge(run: GapRun, gap_id: int, messages: set[UUID]) -> None:
    gap = KnowledgeGap.objects.get(pk=gap_id)
    failed = gap.rows.filter(message__in=messages, answered=False, asked_again_at__gte=run.at).exists()
    if failed and gap.state == State.CLOSED:
        gap_reopen(gap, KnowledgeGap.Reopened.FAILED)


def _event(access: DeskAccess, gap: KnowledgeGap, kind: str, before: str, after: str) -> None:
    name = access.user.get_username()
    GapEvent.objects.create(gap=gap, kind=kind, by=access.user, by_name=name, detail={"from": before, "to": after})


def _assignee(name: str) -> User | None:
    if not name:
        return None
    person = people_at_the_desk().filter(username=name).first()
    if person is None:
        raise InvalidInputError(fields={"assignee": [worded("Nobody of that name works at the review desk.")]})
    return person


def _day(day: date | None) -> str:
    return day.isoformat() if day else ""
