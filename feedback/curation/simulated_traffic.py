"""Conversations of simulated people over the sample documents, answered by the real engine: for demonstrations.

The accounts say what they are by name, group and address, and nobody can sign in as them. Whom, what and when is drawn
from a seed; what is answered, how it came about and how long it took is real. Ratings follow from the samples' labels,
with some noise, and count as any others until the accounts are removed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils import timezone

from chat.models import Message, Session
from chat.review.figures.rollups import days_touch, rollups_refresh
from chat.review.records import answers_record
from chat.runs.answers import Outcome, answer_finish, answer_lease
from chat.runs.run import answer_question
from chat.services.ask import session_title
from feedback.models import Rating
from feedback.ratings.services import rating_set
from ragsite.core.database import database_call
from ragsite.core.errors import AppError, ConflictError
from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.models import Document
from retrieval.selectors import scope_for
from retrieval.services.samples import read_questions
from retrieval.trace import Trace
from retrieval.values import Answer, HistoryMessage, Question
from retrieval.workflows import DEFAULT_WORKFLOW

GROUP = "Simulated users"
NAME = "simulated-{number:02d}"
ADDRESS = "{name}@simulated.invalid"  # a top-level domain that never exists (RFC 2606)
PEOPLE = 40
DAYS = 30
AT_ONCE = 3
RATED_SHARE = 0.4
FOLLOW_UP_SHARE = 0.35
WORKFLOWS = {DEFAULT_WORKFLOW: 70, "self_corrective": 10, "react": 8, "planned": 6, "dual_loop": 6}
BATCH = 200
REFRESH_S = 600.0

# What the sample handbook says nothing of: knowledge gaps.
UNANSWERED = (
    "How do I get a parking permit for the campus?", "Where can I park my car on campus, and what does a permit cost?",
    "What does a parking permit for students cost?", "Is there a gym, and what does membership cost?",
    "What are the opening hours of the gym?", "Can I bring my dog to the hall of residence?",
    "How do I apply for a place in the university kindergarten?", "Which vaccinations does the health centre offer?",
    "校园停车证怎么办理?", "停车证要多少钱?", "健身房几点开门?", "宿舍可以养猫吗?", "如何申請校園停車證?",
    "健身房的會員費是多少?",
)  # fmt: skip
FOLLOW_UPS = {
    "en": ("And for postgraduates?", "Where does it say that?", "What happens if I am late?", "And in 2023?"),
    "zh-Hans": ("研究生呢?", "迟了怎么办?", "费用是多少?"),
    "zh-Hant": ("研究生呢?", "逾期會怎樣?", "費用是多少?"),
}
OPENINGS = {"en": ("", "", "", "Hi, ", "Please tell me: ", "Quick question: "), "zh-Hans": ("", "", "请问"),
            "zh-Hant": ("", "", "請問")}  # fmt: skip
COMMENTS = {
    "good": ("Exactly what I needed.", "", "", "谢谢!"),
    "bad": (
        "That is the old rule.",
        "This is not what I asked.",
        "",
        "没有回答我的问题。",
        "The page does not say that.",
    ),
}


class NoSamplesError(ConflictError):
    message = worded("The sample documents are not loaded and ready; run manage.py load_samples, and wait for them.")


class RealTrafficError(ConflictError):
    message = worded(
        "Other people have conversations here, and simulated ratings would change what they find; name --force."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """expects: ANSWER, CLARIFY or NO_ANSWER; documents: files of the samples that answer it."""

    text: str
    expects: str
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A conversation to be."""

    person: int
    begins_at: datetime
    workflow: str
    turns: tuple[Turn, ...]
    chances: tuple[float, ...] = field(default=())  # 0..1, four for each turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A stored answer and when it was, as simulated."""

    message_id: UUID
    question_id: UUID
    at: datetime


# ------------------------------------------------------------------------------------------------ who, what, when
def plans_make(count: int, *, seed: int, now: datetime) -> list[Plan]:
    """Over the last 30 days, more on working days and lately; some people ask much, most little."""
    rng = random.Random(seed)  # noqa: S311
    questions = read_questions()
    busy = [1 / (1 + number) ** 0.7 for number in range(PEOPLE)]
    days = [now - timedelta(days=back) for back in range(DAYS)]
    weights = [(0.25 if day.weekday() >= 5 else 1.0) * (1.5 - back / DAYS) for back, day in enumerate(days)]
    plans = []
    for _ in range(count):
        day = rng.choices(days, weights)[0]
        begins = day.replace(hour=8, minute=0, second=0, microsecond=0) + timedelta(seconds=rng.uniform(0, 11 * 3600))
        if begins > now:
            begins -= timedelta(days=1)
        turns = [_turn(rng, questions)]
        while len(turns) < 4 and rng.random() < FOLLOW_UP_SHARE:
            turns.append(_follow_up(rng, questions))
        plans.append(
            Plan(
                person=rng.choices(range(PEOPLE), busy)[0],
                begins_at=begins,
                workflow=rng.choices(list(WORKFLOWS), list(WORKFLOWS.values()))[0],
                turns=tuple(turns),
                chances=tuple(rng.random() for _ in range(4 * len(turns))),
            )
        )
    return sorted(plans, key=lambda plan: plan.begins_at)


def _turn(rng: random.Random, questions: Sequence[dict[str, Any]]) -> Turn:
    if rng.random() < 0.12:
        return Turn(text=rng.choice(UNANSWERED), expects="NO_ANSWER")
    asked = rng.choice(questions)
    opening = rng.choice(OPENINGS.get(asked["language"], ("",)))
    text = opening + (asked["question"] if rng.random() < 0.8 else asked["question"].rstrip("?？").lower())
    return Turn(text=text, expects=asked["expects"], documents=tuple(asked["documents"]))


def _follow_up(rng: random.Random, questions: Sequence[dict[str, Any]]) -> Turn:
    if rng.random() < 0.5:
        return _turn(rng, questions)
    language = rng.choice(list(FOLLOW_UPS))
    return Turn(text=rng.choice(FOLLOW_UPS[language]), expects="")


# ------------------------------------------------------------------------------------------------ make
async def traffic_simulate(*, conversations: int, seed: int, within_s: float, force: bool) -> AsyncIterator[int]:
    """Make conversations until there are so many, or the time is over; gives how many are done.

    Raises NoSamplesError, RealTrafficError.
    """
    await database_call(_check, force)
    people = await database_call(people_make)
    plans = plans_make(conversations, seed=seed, now=timezone.now())
    files = await database_call(_files)
    until, done = monotonic() + within_s, 0
    given: list[Given] = []
    waiting = iter(plans)
    running: set[asyncio.Task[list[Given]]] = set()
    while True:
        while len(running) < AT_ONCE and monotonic() < until and (plan := next(waiting, None)):
            running.add(asyncio.create_task(_converse(people[plan.person], plan, files)))
        if not running:
            break
        ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            given += task.result()
            done += 1
            yield done
    await database_call(_count, given)


def _check(force: bool) -> None:
    if not Document.objects.filter(collection__owner=None, status=Document.Status.READY).exists():
        raise NoSamplesError
    if not force and Session.objects.exclude(user__groups__name=GROUP).exists():
        raise RealTrafficError


def _files() -> dict[str, str]:
    """Document id → its file as the samples' questions name it."""
    rows = Document.objects.filter(collection__owner=None).select_related("collection")
    return {str(row.pk): f"{row.collection.name}/{row.file_name}" for row in rows}


@transaction.atomic
def people_make() -> list[User]:
    """The simulated accounts; nobody can sign in as one."""
    group, _ = Group.objects.get_or_create(name=GROUP)
    people = []
    for number in range(1, PEOPLE + 1):
        name = NAME.format(number=number)
        user = User.objects.filter(username=name).first()
        if user is None:
            user = User(username=name, email=ADDRESS.format(name=name), first_name="Simulated", last_name=str(number))
            user.set_unusable_password()
            user.save()
            user.groups.add(group)
        people.append(user)
    return people


async def _converse(user: User, plan: Plan, files: dict[str, str]) -> list[Given]:
    """One conversation, turn by turn."""
    session = await database_call(_session, user, plan)
    history: list[HistoryMessage] = []
    at, given, follows = plan.begins_at, [], None
    for number, turn in enumerate(plan.turns):
        chances = plan.chances[4 * number : 4 * number + 4]
        scope = await database_call(scope_for, user=user)
        trace = Trace()
        question = Question(text=turn.text, scope=scope, history=tuple(history))
        try:
            async with asyncio.timeout(settings.RAG.limits.answer_timeout_s):
                answer = await answer_question(question, workflow=plan.workflow, trace=trace)
        except (AppError, ModelError, TimeoutError):
            break
        stored = await database_call(_store, session, plan, turn, answer, trace, at, follows)
        given.append(stored)
        follows = stored.question_id
        await database_call(_rate, user, turn, answer, stored, chances, files)
        history += [HistoryMessage("user", turn.text), HistoryMessage("assistant", answer.text)]
        at += timedelta(seconds=40 + 200 * chances[3])
    await database_call(Session.objects.filter(pk=session.pk).update, created_at=plan.begins_at, updated_at=at)
    return given


def _session(user: User, plan: Plan) -> Session:
    return Session.objects.create(user=user, workflow=plan.workflow, title=session_title(plan.turns[0].text))


def _store(
    session: Session, plan: Plan, turn: Turn, answer: Answer, trace: Trace, at: datetime, follows: UUID | None
) -> Given:
    """Question and answer, as a run stores them, with the time that is simulated."""
    question = Message.objects.create(session=session, role=Message.Role.USER, text=turn.text, follows_id=follows)
    answer_id = uuid4()
    lease = answer_lease(answer_id)
    Message.objects.create(
        id=answer_id, session=session, role=Message.Role.ASSISTANT, reply_to=question, workflow=plan.workflow,
        status=Message.Status.STREAMING, **lease.columns(),
    )  # fmt: skip
    outcome = Outcome(
        status="interrupted" if answer.partial else "complete",
        text=answer.text,
        decision=answer.decision,
        reason=answer.reason,
        model=answer.model,
        clarification=answer.clarification,
        sources=answer.sources,
        grounding=answer.grounding,
        steps=tuple(trace.steps),
        usage=trace.usage().as_dict(),
        degraded=trace.degraded,
    )
    answer_finish(message_id=answer_id, run_id=lease.token, outcome=outcome)
    Message.objects.filter(pk=question.pk).update(created_at=at, finished_at=None)
    answered_at = at + timedelta(milliseconds=trace.usage().total_ms)
    Message.objects.filter(pk=answer_id).update(created_at=at + timedelta(milliseconds=1), finished_at=answered_at)
    return Given(message_id=answer_id, question_id=question.pk, at=at)


def _rate(
    user: User, turn: Turn, answer: Answer, given: Given, chances: Sequence[float], files: dict[str, str]
) -> None:
    """As somebody would who knows the right document, mostly."""
    if chances[0] >= RATED_SHARE:
        return
    cited = {files.get(source.chunk.document_id, "") for source in answer.sources if source.cited}
    if turn.expects == "ANSWER" or not turn.expects:
        right = answer.decision == "ANSWER" and (not turn.documents or bool(cited & set(turn.documents)))
    else:
        right = answer.decision == turn.expects
    pleased = right if chances[1] < 0.88 else not right
    # Nobody is glad of hearing that there is no answer, however right it is.
    if answer.decision == "NO_ANSWER" and chances[2] < 0.6:
        pleased = False
    low = chances[2] < 0.5
    score = (5 if low else 4) if pleased else (1 if low else 2)
    wrong = "incomplete" if answer.decision == "NO_ANSWER" else "wrong_source" if low else "not_helpful"
    comments = COMMENTS["good" if pleased else "bad"]
    rating = rating_set(
        user=user, message_id=given.message_id, score=score, tags=["helpful"] if pleased else [wrong],
        comment=comments[int(chances[3] * len(comments))],
    )  # fmt: skip
    rated_at = min(given.at + timedelta(minutes=1 + 4 * chances[3]), timezone.now())
    Rating.objects.filter(pk=rating.pk).update(created_at=rated_at, updated_at=rated_at)


def _count(given: Sequence[Given]) -> None:
    """The desk's rows and the dashboard's counts, at the simulated times."""
    for start in range(0, len(given), BATCH):
        answers_record([answer.message_id for answer in given[start : start + BATCH]])
    days_touch([timezone.now()])
    rollups_refresh(within_s=REFRESH_S)


# ------------------------------------------------------------------------------------------------ remove
def traffic_remove() -> int:
    """Delete the simulated accounts with all that they made. Returns how many accounts there were."""
    people = list(User.objects.filter(groups__name=GROUP, email__endswith="@simulated.invalid"))
    moments = list(Message.objects.filter(session__user__in=people).datetimes("created_at", "day"))
    for user in people:
        user.delete()
    days_touch(moments)
    rollups_refresh(within_s=REFRESH_S)
    if not User.objects.filter(groups__name=GROUP).exists():
        Group.objects.filter(name=GROUP).delete()
    return len(people)
