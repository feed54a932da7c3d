"""Settings as administrators change them: a draft each, tried, made live, rolled back. What was live is not rewritten.

A draft begins as a copy of what is live. Where another revision has gone live meanwhile, it is first put on top of that
one (`draft_rebase`), so that nobody undoes another one's change without seeing it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from chat.models import ReplayBatch
from chat.review.replay.replays import batch_create_golden, replay_cancel, replays_queue
from chat.review.roles import DeskAccess
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.rag_settings import RagSettings
from ragsite.core.rag_settings.changes import UNKNOWN, Problems, changed
from ragsite.core.rag_settings.offered import OFFERED, kind_of
from ragsite.core.text import clean_text
from ragsite.core.wording import Sentence, worded
from ragsite.models import SettingRevision
from ragsite.runtime import live_settings
from ragsite.runtime.live_settings import live_revision, locked_settings, operator_settings
from retrieval.prompting import built_in_prompts, built_in_text, prompt_faults

NOTE_CHARS = 500
LISTED = 100  # revisions in the history
TRIES_SHOWN = 5
MOST_NUMBER = 2**31 - 1  # that every database holds
ALL_SETS = "*"  # of golden questions
State = SettingRevision.State
Changes = dict[str, dict[str, Any]]


class NoDraftError(NotFoundError):
    code = "no_draft"
    message = worded("You have no draft of settings; change one first.")


class DraftOutdatedError(ConflictError):
    code = "draft_outdated"
    message = worded(
        "Other settings have gone live since this draft was begun; put the draft on top of them, and look at it again."
    )


class NothingChangedError(ConflictError):
    code = "nothing_changed"
    message = worded("The draft changes nothing of what is live.")


def empty() -> Changes:
    return {"values": {}, "prompts": {}}


def changes_of(revision: SettingRevision | None) -> Changes:
    """A copy, whole also where another version of the program wrote less."""
    stored = revision.changes if revision and isinstance(revision.changes, dict) else {}
    return {part: dict(stored.get(part) or {}) for part in empty()}


# ------------------------------------------------------------------------------------------------ read
def draft_find(access: DeskAccess) -> SettingRevision | None:
    """The person's own."""
    mine = SettingRevision.objects.filter(state=State.DRAFT, made_by=access.user)
    return mine.select_related("base").first()


def draft_get(access: DeskAccess) -> SettingRevision:
    """Raises NoDraftError."""
    draft = draft_find(access)
    if draft is None:
        raise NoDraftError
    return draft


def drafts_of_others(access: DeskAccess) -> list[SettingRevision]:
    """So that two who work on settings know of each other."""
    others = SettingRevision.objects.filter(state=State.DRAFT).exclude(made_by=access.user)
    return list(others.select_related("made_by", "base").order_by("-changed_at")[:LISTED])


def history() -> QuerySet[SettingRevision]:
    """What is or was live, the newest first."""
    return SettingRevision.objects.exclude(number=None).select_related("made_by").order_by("-number")


def revision_get(number: int) -> SettingRevision:
    """Raises NotFoundError."""
    revision = history().filter(number=number).first() if number <= MOST_NUMBER else None
    if revision is None:
        raise NotFoundError
    return revision


def is_outdated(draft: SettingRevision) -> bool:
    """Whether another revision has gone live since it was begun."""
    live = live_revision()
    return draft.base_id != (live.pk if live else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A copy of a draft that was tried, and the job of replays that tries it."""

    revision: SettingRevision
    batch: ReplayBatch


def tries() -> list[Try]:
    """The last ones, the newest first."""
    tried = SettingRevision.objects.filter(state=State.TRIED).select_related("made_by").order_by("-pk")[:TRIES_SHOWN]
    batches = {batch.change.get("settings"): batch for batch in ReplayBatch.objects.filter(
        change__settings__in=[revision.pk for revision in tried]
    )}  # fmt: skip
    return [Try(revision=row, batch=batches[row.pk]) for row in tried if row.pk in batches]


def try_get(pk: int) -> Try:
    """Raises NotFoundError."""
    if pk > MOST_NUMBER:
        raise NotFoundError
    revision = SettingRevision.objects.filter(pk=pk, state=State.TRIED).select_related("made_by", "base").first()
    batch = ReplayBatch.objects.filter(change__settings=pk).first()
    if revision is None or batch is None:
        raise NotFoundError
    return Try(revision=revision, batch=batch)


# ------------------------------------------------------------------------------------------------ a draft
def draft_save(
    *,
    access: DeskAccess,
    values: Mapping[str, Any],
    reset: Collection[str] = (),
    prompts: Mapping[str, str | None] | None = None,
    models: Sequence[str] = (),
) -> SettingRevision:
    """Change the person's draft, or begin one with it. All of it, or nothing.

    reset: settings that are the operator's again. prompts: by file name without its ending; None: the shipped one.
    models: those that the model server lists; empty: it is away, and names can't be checked.
    Raises InvalidInputError with `fields` {"values": {name: [sentence]}, "prompts": {name: [sentence]}}.
    """
    access.require("administer")
    texts = {name: None if text is None else _prompt_text(text) for name, text in (prompts or {}).items()}
    try:
        with transaction.atomic():
            return _draft_change(access, values, reset, texts, models)
    except IntegrityError:  # the same person has begun it in another tab at the same moment
        with transaction.atomic():
            return _draft_change(access, values, reset, texts, models)


def _draft_change(
    access: DeskAccess,
    values: Mapping[str, Any],
    reset: Collection[str],
    prompts: Mapping[str, str | None],
    models: Sequence[str],
) -> SettingRevision:
    draft = SettingRevision.objects.select_for_update().filter(state=State.DRAFT, made_by=access.user).first()
    if draft is None:
        live = live_revision()
        draft = SettingRevision(made_by=access.user, base=live, changes=_usable(changes_of(live)))
    changes = changes_of(draft)
    for name in reset:
        changes["values"].pop(name, None)
    changes["values"].update(values)
    rag, problems = changed(operator_settings(), changes["values"], locked=locked_settings())
    problems |= _refused(values, rag, models) | {name: UNKNOWN for name in reset if name not in OFFERED}
    _raise_for(problems, _prompts_refused(prompts))
    changes["values"] = _differing(rag, changes["values"])
    for name, text in prompts.items():
        changes["prompts"].pop(name, None)
        if text is not None and text != built_in_text(name):
            changes["prompts"][name] = text
    draft.changes = changes
    draft.save()
    return draft


def value_of(rag: RagSettings, name: str) -> Any:
    group, _, field = name.partition(".")
    return getattr(getattr(rag, group), field)


def _differing(rag: RagSettings, values: Mapping[str, Any]) -> dict[str, Any]:
    """As the types have read them, without those that are the operator's anyway."""
    operators = operator_settings()
    read = {name: value_of(rag, name) for name in sorted(values) if name in OFFERED}
    return {name: value for name, value in read.items() if value != value_of(operators, name)}


def _refused(values: Mapping[str, Any], rag: RagSettings, models: Sequence[str]) -> Problems:
    """What the types can't know."""
    problems, locked = Problems(), locked_settings()
    for name in values:
        if name in locked:
            problems[name] = worded("It is set by the environment ({variable}).", variable=locked[name])
        elif name == "web_search.by_default" and not rag.web_search.provider:
            problems[name] = worded("This site has no web search; the operator may set one up (RAG_WEB_SEARCH).")
        elif name in OFFERED and kind_of(name) in ("model", "models") and models:
            named = [part.strip() for part in str(values[name]).split(",") if part.strip()]
            known = {model.lower() for model in models} | {model.lower().removesuffix(":latest") for model in models}
            if missing := [model for model in named if model.lower() not in known]:
                problems[name] = worded("The model server does not list {model}.", model=missing[0][:80])
    return problems


def _prompt_text(text: str) -> str:
    """With the ends of lines and of the file as ours have them."""
    return clean_text(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n") + "\n"


def _prompts_refused(prompts: Mapping[str, str | None]) -> dict[str, list[Sentence]]:
    locked, refused = prompts_locked(), {}
    for name, text in prompts.items():
        faults: list[Sentence] = [] if text is None else prompt_faults(name, text)
        if name in locked:
            faults.insert(0, worded("A file in the operator's folder (RAG_PROMPTS_DIR) decides it."))
        if faults:
            refused[name] = faults
    return refused


def prompts_locked() -> set[str]:
    """Prompts that a file of the operator replaces."""
    folder = operator_settings().prompts_dir
    if not folder:
        return set()
    return {name for name in built_in_prompts() if (Path(folder).expanduser() / f"{name}.md").is_file()}


def draft_discard(*, access: DeskAccess) -> None:
    """It stays as a row that was withdrawn. Raises NoDraftError."""
    access.require("administer")
    mine = SettingRevision.objects.filter(state=State.DRAFT, made_by=access.user)
    if not mine.update(state=State.WITHDRAWN, ended_at=timezone.now()):
        raise NoDraftError


@transaction.atomic
def draft_rebase(*, access: DeskAccess) -> tuple[SettingRevision, list[str]]:
    """Put the draft's own changes on top of what is live now. Returns it, and what both have changed: there the draft's
    own value stays. Raises NoDraftError."""
    access.require("administer")
    draft = _draft_locked(access)
    live = live_revision()
    begun, mine, theirs = changes_of(draft.base), changes_of(draft), changes_of(live)
    merged, both = empty(), []
    for part in empty():
        for name in sorted({*begun[part], *mine[part], *theirs[part]}):
            was, own, other = (side[part].get(name) for side in (begun, mine, theirs))
            chosen = other if own == was else own
            if own != was and other not in (was, own):
                both.append(name)
            if chosen is not None:
                merged[part][name] = chosen
    draft.base, draft.changes = live, _usable(merged)
    draft.save()
    return draft, both


def _draft_locked(access: DeskAccess) -> SettingRevision:
    mine = SettingRevision.objects.select_for_update(of=("self",)).select_related("base")
    draft = mine.filter(state=State.DRAFT, made_by=access.user).first()
    if draft is None:
        raise NoDraftError
    return draft


# ------------------------------------------------------------------------------------------------ try
@transaction.atomic
def draft_try(*, access: DeskAccess, set_name: str | None) -> Try:
    """Put golden questions to the site as it is and with the draft, as a job of replays; set_name None: of all sets.

    What is tried is a copy: the draft may change meanwhile. Raises NoDraftError, NothingChangedError,
    InvalidInputError, ConflictError.
    """
    access.require("administer")
    draft = draft_get(access)
    if changes_of(draft) == changes_of(live_revision()):
        raise NothingChangedError
    tried = SettingRevision.objects.create(
        state=State.TRIED, changes=draft.changes, base=live_revision(), made_by=access.user, ended_at=timezone.now()
    )
    name = f"Draft of settings {tried.pk}"  # shown by `labels.batch_name`
    batch = batch_create_golden(access=access, name=name, set_name=set_name, change={"settings": tried.pk})
    transaction.on_commit(replays_queue, robust=True)
    return Try(revision=tried, batch=batch)


@transaction.atomic
def try_cancel(*, access: DeskAccess, pk: int) -> None:
    """Raises NotFoundError."""
    access.require("administer")
    replay_cancel(replays=try_get(pk).batch.replays.all())


# ------------------------------------------------------------------------------------------------ go live
def draft_live(*, access: DeskAccess, note: str = "") -> SettingRevision:
    """Raises NoDraftError, DraftOutdatedError, NothingChangedError, InvalidInputError where a value can't be used."""
    access.require("administer")
    try:
        with transaction.atomic():
            draft = _draft_locked(access)
            live = _live_locked()
            if draft.base_id != (live.pk if live else None):
                raise DraftOutdatedError
            if changes_of(draft) == changes_of(live):
                raise NothingChangedError
            _check(changes_of(draft))
            return _go_live(draft, live, note)
    except IntegrityError as error:  # another one has gone live at the same moment
        raise DraftOutdatedError from error


def restore(*, access: DeskAccess, number: int, note: str = "") -> SettingRevision:
    """Make an earlier revision's settings live again, as a new revision; 0: the operator's, without any change.

    Raises NotFoundError, NothingChangedError, DraftOutdatedError.
    """
    access.require("administer")
    try:
        with transaction.atomic():
            live = _live_locked()
            changes = changes_of(revision_get(number)) if number else empty()
            if changes == changes_of(live):
                raise NothingChangedError(worded("These settings are live already."))
            again = SettingRevision(changes=changes, base=live, made_by=access.user, restores=number)
            return _go_live(again, live, note)
    except IntegrityError as error:
        raise DraftOutdatedError from error


def _live_locked() -> SettingRevision | None:
    return SettingRevision.objects.select_for_update().filter(state=State.LIVE).first()


def _check(changes: Changes) -> None:
    _, problems = changed(operator_settings(), changes["values"], locked=locked_settings())
    texts = changes["prompts"].items()
    _raise_for(problems, {name: faults for name, text in texts if (faults := prompt_faults(name, text))})


def _raise_for(problems: Problems, prompts: Mapping[str, Sequence[Sentence]]) -> None:
    """Raises InvalidInputError where something is wrong."""
    wrong: dict[str, Any] = {"values": {name: [said] for name, said in problems.items()}, "prompts": prompts}
    if fields := {part: said for part, said in wrong.items() if said}:
        raise InvalidInputError(fields=fields)


def _usable(changes: Changes) -> Changes:
    """Without what this version can't use: a draft must not be stuck with it."""
    _, problems = changed(operator_settings(), changes["values"])
    return {
        "values": {name: value for name, value in changes["values"].items() if name not in problems},
        "prompts": {name: text for name, text in changes["prompts"].items() if not prompt_faults(name, text)},
    }


def _go_live(revision: SettingRevision, live: SettingRevision | None, note: str) -> SettingRevision:
    now = timezone.now()
    if live:
        SettingRevision.objects.filter(pk=live.pk).update(state=State.REPLACED, ended_at=now)
    highest = SettingRevision.objects.aggregate(highest=Max("number"))["highest"] or 0
    revision.state, revision.number, revision.live_at = State.LIVE, highest + 1, now
    revision.note = clean_text(" ".join(note.split()))[:NOTE_CHARS]
    revision.save()
    transaction.on_commit(partial(live_settings.refresh, at_once=True), robust=True)
    return revision


def size_of(changes: Changes) -> int:
    """How many settings and prompts it changes."""
    return len(changes["values"]) + len(changes["prompts"])
