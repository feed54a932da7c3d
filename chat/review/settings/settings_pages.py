"""Pages of settings: all of them as a form, a prompt in both languages, a draft on golden questions, history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from hashlib import sha256
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from chat.models import Replay
from chat.review import labels
from chat.review.feedback_port import get_feedback
from chat.review.pages import desk_page
from chat.review.replay.replay_data import batch_data, replay_row
from chat.review.replay.replays import batch_get, batch_summary, models_listed, replays_of
from chat.review.roles import DeskAccess
from chat.review.settings.revisions import (
    ALL_SETS,
    LISTED,
    NOTE_CHARS,
    Try,
    changes_of,
    draft_discard,
    draft_live,
    draft_rebase,
    draft_save,
    draft_try,
    drafts_of_others,
    history,
    is_outdated,
    restore,
    revision_get,
    tries,
    try_get,
)
from chat.review.settings.shown import (
    PROMPT_LANGUAGES,
    View,
    as_text,
    choice_label,
    differences,
    operator_data,
    prompt_data,
    prompt_names,
    prompt_rows,
    said_value,
    sections_data,
    view_of,
)
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError
from ragsite.core.localized import localized
from ragsite.core.rag_settings.offered import OFFERED
from ragsite.core.wording import worded
from ragsite.models import SettingRevision
from ragsite.runtime import live_settings
from retrieval.prompting import BUILT_IN, MAX_CHARS, about_prompt, built_in_text, parse_prompt

WORSE_SHOWN = 50


@desk_page("administer", methods=("GET", "HEAD", "POST"))
def settings_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The form. What was not changed in it is not sent to the draft, whatever went live meanwhile."""
    live_settings.refresh(at_once=True)
    typed: dict[str, str] = {}
    wrong: Mapping[str, Any] = {}
    if request.method == "POST":
        for name in OFFERED:
            text = request.POST.get(name)
            if text is not None and text != request.POST.get(f"was:{name}", ""):
                typed[name] = text
        try:
            if not typed:
                messages.info(request, _("Nothing was changed."))
            else:
                draft_save(access=access, values=typed, models=async_to_sync(models_listed)())
                messages.success(request, _("Saved in your draft. The site goes on as it was until you make it live."))
            return redirect("review_settings")
        except InvalidInputError as error:
            wrong = localized(error.fields.get("values", {}))
    view = view_of(access)
    context = {
        **_base(access),
        "sections": [_section(section, typed, wrong) for section in sections_data(view)],
        "wrong": bool(wrong),
        "prompts": prompt_rows(view),
        "operator": [row | {"value": said_value(row["value"])} for row in operator_data(view)],
        "live": view.live,
        "may_reset": any(view.live_changes.values()),
        "draft": _draft(view),
        "others": drafts_of_others(access),
        "problems": [
            {"label": localized(OFFERED[name].label) if name in OFFERED else name, "said": localized(said)}
            for name, said in view.live_problems.items()
        ],
        "tries": [_try(made) for made in tries()],
        "golden_sets": [{"name": name, "count": count} for name, count in get_feedback().golden_sets(user=access.user)],
        "all_sets": ALL_SETS,
        "history": [_past(revision) for revision in history()[:LISTED]],
        "note_chars": NOTE_CHARS,
        "models": async_to_sync(models_listed)(),
    }
    return render(request, "review/settings.html", context, status=400 if wrong else 200)


def _base(access: DeskAccess) -> dict[str, Any]:
    return {"section": "review", "desk_part": "settings", "access": access}


def _section(section: Mapping[str, Any], typed: Mapping[str, str], wrong: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for row in section["settings"]:
        name, now = row["name"], row["draft"] if row["draft"] is not None else row["value"]
        bounds = row["bounds"]
        rows.append(
            row
            | {
                "id": name.replace(".", "-"),
                "was": as_text(now),
                "text": typed.get(name, as_text(now)),
                "problems": wrong.get(name, ()),
                "said_live": said_value(row["value"], name),
                "said_default": said_value(row["default"], name),
                "choices": [(choice, choice_label(name, choice)) for choice in row["choices"]],
                "least": as_text(bounds["least"]) if "least" in bounds else "0" if "above" in bounds else "",
                "most": as_text(bounds["most"]) if "most" in bounds else "",
            }
        )
    return {**section, "settings": rows, "changed": sum(row["changed"] for row in rows)}


def _draft(view: View) -> dict[str, Any] | None:
    draft = view.draft
    if draft is None:
        return None
    rows = differences(view.live_changes, view.draft_changes, view.operators)
    return {
        "base": draft.base.number if draft.base else None,
        "outdated": is_outdated(draft),
        "differences": [_difference(row) for row in rows],
        "changed_at": draft.changed_at,
    }


def _difference(row: Mapping[str, Any]) -> dict[str, Any]:
    if not row["prompt"]:
        return {**row, "before": said_value(row["before"], row["name"]), "after": said_value(row["after"], row["name"])}
    stem = row["name"]
    address = reverse("review_settings_prompt", args=[stem.partition(".")[0]])
    shipped, own = _("shipped text"), _("own text")
    before, after = (shipped if row[side] is None else own for side in ("before", "after"))
    return {**row, "before": before, "after": after, "address": address}


def _past(revision: SettingRevision) -> dict[str, Any]:
    changes = changes_of(revision)
    return {
        "number": revision.number,
        "is_live": revision.state == SettingRevision.State.LIVE,
        "state_text": revision.get_state_display(),
        "by": revision.made_by.get_username() if revision.made_by else None,
        "live_at": revision.live_at,
        "note": revision.note,
        "restores": revision.restores,
        "count": len(changes["values"]) + len(changes["prompts"]),
    }


# ------------------------------------------------------------------------------------------------ what is done
@desk_page("administer", methods=("POST",))
def draft_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """A button of the draft's bar: undo (of one setting or prompt), discard, rebase, live, try."""
    try:
        match request.POST.get("act"):
            case "undo":
                return _undo(request, access)
            case "discard":
                draft_discard(access=access)
                messages.success(request, _("The draft was discarded. The settings that are live stay."))
            case "rebase":
                both = draft_rebase(access=access)[1]
                messages.success(request, _("The draft stands on what is live now."))
                if both:
                    named = ", ".join(str(localized(OFFERED[name].label)) if name in OFFERED else name for name in both)
                    said = _("Changed on both sides, your draft's value stays: {names}").format(names=named)
                    messages.warning(request, said)
            case "live":
                revision = draft_live(access=access, note=request.POST.get("note", ""))
                said = _("Revision {number} is live. Questions that are asked from now on are answered with it.")
                messages.success(request, said.format(number=revision.number))
            case "try":
                chosen = request.POST.get("set", ALL_SETS)
                made = draft_try(access=access, set_name=None if chosen == ALL_SETS else chosen)
                return redirect("review_settings_try", made.revision.pk)
            case _unknown:
                raise NotFoundError
    except AppError as error:
        if isinstance(error, NotFoundError) and type(error) is NotFoundError:
            raise
        messages.error(request, _said(error))
    return redirect("review_settings")


def _undo(request: HttpRequest, access: DeskAccess) -> HttpResponse:
    """One change of the draft: as it is live."""
    name = request.POST.get("name", "")
    view = view_of(access)
    if view.draft is None or (name not in OFFERED and name not in view.draft_changes["prompts"]
                              and name not in view.live_changes["prompts"]):  # fmt: skip
        raise NotFoundError
    if name in OFFERED:
        live = view.live_changes["values"]
        draft_save(access=access, values={name: live[name]} if name in live else {}, reset=[name])
    else:
        draft_save(access=access, values={}, prompts={name: view.live_changes["prompts"].get(name)})
    return redirect("review_settings")


def _said(error: AppError) -> str:
    sentences = [str(localized(error.message))]
    for problems in error.fields.values():
        if isinstance(problems, Mapping):
            sentences += [f"{name}: {localized(said[0])}" for name, said in problems.items() if said]
    return " ".join(sentences)


@desk_page("administer", methods=("POST",))
def restore_page(request: HttpRequest, *, access: DeskAccess, number: int) -> HttpResponse:
    """Roll back. 0: to the operator's settings."""
    try:
        revision = restore(access=access, number=number, note=request.POST.get("note", ""))
    except NotFoundError:
        raise
    except AppError as error:
        messages.error(request, _said(error))
    else:
        said = _("Revision {number} is live. Questions that are asked from now on are answered with it.")
        messages.success(request, said.format(number=revision.number))
    return redirect("review_settings")


@desk_page("administer")
def revision_page(request: HttpRequest, *, access: DeskAccess, number: int) -> HttpResponse:
    """What it changed of the one before, and how it differs from what is live."""
    revision = revision_get(number)
    view = view_of(access)
    earlier = history().filter(number__lt=number).first()
    changes = changes_of(revision)
    context = {
        **_base(access),
        "revision": _past(revision),
        "earlier": earlier.number if earlier else None,
        "to_earlier": [_diffed(row) for row in differences(changes_of(earlier), changes, view.operators)],
        "to_live": [_diffed(row) for row in differences(view.live_changes, changes, view.operators)],
        "live": view.live,
        "note_chars": NOTE_CHARS,
    }
    return render(request, "review/settings_revision.html", context)


def _diffed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Of a prompt with its lines: {"kind": "added" | "removed" | "same", "text"}."""
    shown = _difference(row)
    if row["prompt"]:
        texts = [text if text is not None else _shipped(row["name"]) for text in (row["before"], row["after"])]
        shown["lines"] = diff_lines(*texts)
    return shown


def _shipped(stem: str) -> str:
    return built_in_text(stem) if (BUILT_IN / f"{stem}.md").is_file() else ""


def diff_lines(old: str, new: str) -> list[dict[str, str]]:
    """Three lines around each change."""
    kinds = {"+": "added", "-": "removed", " ": "same"}
    lines = list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3))[2:]
    return [{"kind": kinds.get(line[:1], "gap"), "text": line[1:] if line[:1] in kinds else "…"} for line in lines]


# ------------------------------------------------------------------------------------------------ a prompt
@desk_page("administer", methods=("GET", "HEAD", "POST"))
def prompt_page(request: HttpRequest, *, access: DeskAccess, name: str) -> HttpResponse:
    """One prompt in both languages, beside the shipped text."""
    live_settings.refresh(at_once=True)
    if name not in prompt_names():
        raise NotFoundError
    stems = {language: f"{name}.{language}" for language in PROMPT_LANGUAGES}
    typed: dict[str, str] = {}
    wrong: Mapping[str, Any] = {}
    if request.method == "POST":
        given: dict[str, str | None] = {}
        for language, stem in stems.items():
            if request.POST.get("shipped") == language:
                given[stem] = None
            elif "shipped" not in request.POST and language in request.POST:
                text = request.POST[language][: 2 * MAX_CHARS]
                if text_mark(text) != request.POST.get(f"was:{language}"):  # else it is as this page showed it
                    typed[stem] = given[stem] = text
        try:
            if prompts := _changed_prompts(view_of(access), given):
                draft_save(access=access, values={}, prompts=prompts)
                messages.success(request, _("Saved in your draft. The site goes on as it was until you make it live."))
            else:
                messages.info(request, _("Nothing was changed."))
            return redirect("review_settings_prompt", name)
        except InvalidInputError as error:
            wrong = localized(error.fields.get("prompts", {}))
    view = view_of(access)
    texts = []
    for language, stem in stems.items():
        data = prompt_data(view, stem)
        now = data["draft"] if data["draft"] is not None else data["shipped"]
        live = data["live"] if data["live"] is not None else data["shipped"]
        texts.append(
            data
            | {
                "language": language,
                "language_label": labels.language_label("en") if language == "en" else _("Chinese"),
                "text": typed.get(stem, now),
                "mark": text_mark(now),
                "problems": wrong.get(stem, ()),
                "changed": now != live,
                "replaced": data["draft"] is not None,
                "lines": diff_lines(data["shipped"], now) if now != data["shipped"] else [],
                "variables": sorted(parse_prompt(name, BUILT_IN / f"{stem}.md").variables),
            }
        )
    context = {
        **_base(access),
        "name": name,
        "about": localized(worded(about_prompt(texts[0]["shipped"]))),
        "texts": texts,
        "one_sided": sum(text["replaced"] for text in texts) == 1,
        "most": MAX_CHARS,
        "draft": view.draft,
    }
    return render(request, "review/settings_prompt.html", context, status=400 if wrong else 200)


def text_mark(text: str) -> str:
    """Tells whether a text was changed, however a form ends its lines."""
    return sha256(_plain(text).encode()).hexdigest()


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip("\n") + "\n"


def _changed_prompts(view: View, given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Without those that were left as the draft has them: a file of the operator may lock them."""
    changed: dict[str, str | None] = {}
    for stem, text in given.items():
        now = view.draft_changes["prompts"].get(stem)
        plain = None if text is None else _plain(text)
        if plain == (built_in_text(stem) if now is None else now):
            continue
        changed[stem] = plain
    return changed


# ------------------------------------------------------------------------------------------------ a try
@desk_page("administer")
def try_page(request: HttpRequest, *, access: DeskAccess, pk: int) -> HttpResponse:
    """Golden questions with what is live and with the draft: figures beside each other, and what got worse."""
    made = try_get(pk)
    tried, view = made.revision, view_of(access)
    batch = batch_get(made.batch.pk)
    data, summary = batch_data(batch), batch_summary(batch)
    context = {
        **_base(access),
        "tried": tried,
        "by": tried.made_by.get_username() if tried.made_by else None,
        "differences": [
            _difference(row) for row in differences(changes_of(tried.base), changes_of(tried), view.operators)
        ],
        "changed_since": view.draft is not None and changes_of(view.draft) != changes_of(tried),
        "is_live": changes_of(tried) == view.live_changes,
        "batch": batch,
        "data": data,
        "open": data["ended"] < data["total"],
        "summary": summary,
        "figures": _figures(summary),
        "worse": _worse(batch),
        "done": data["ended"],
        "total": data["total"],
        "boot": {"tried": tried.pk},
    }
    return render(request, "review/settings_try.html", context)


def _try(made: Try) -> dict[str, Any]:
    tried = made.revision
    data = batch_data(batch_get(made.batch.pk))
    return {
        "pk": tried.pk,
        "by": tried.made_by.get_username() if tried.made_by else None,
        "made_at": tried.created_at,
        "ended": data["ended"],
        "total": data["total"],
        "count": len(differences(changes_of(tried.base), changes_of(tried), live_settings.operator_settings())),
    }


def _figures(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table: title, now, draft; shares of counts; better, worse: where more is better."""
    rows: list[dict[str, Any]] = []
    for title, counts, of in (
        (_("As expected"), summary["found"], summary["golden"]),
        (_("Right document among the sources"), summary["among_sources"], summary["ranked"]),
    ):
        if of:
            shares = [f"{100 * count / of:.0f} %" for count in counts]
            rows.append(_figure(title, *counts, shown=[f"{count} / {of}" for count in counts]) | {"shares": shares})
    old, new = summary["mrr"]
    if old is not None and new is not None:
        title = _("Place of the right document (mean of 1 / place)")
        rows.append(_figure(title, old, new, shown=[f"{old:.3f}", f"{new:.3f}"]))
    for decision in ("ANSWER", "CLARIFY", "NO_ANSWER"):
        now, draft = summary["decided"].get(decision, (0, 0))
        rows.append({"title": labels.decision_label(decision), "now": now, "draft": draft})
    now, draft = summary["median_ms"]  # too noisy to be called better or worse
    if now is not None and draft is not None:
        rows.append({"title": _("Median time, in ms"), "now": now, "draft": draft})
    return rows


def _figure(title: str, now: float, draft: float, *, shown: Sequence[str]) -> dict[str, Any]:
    return {"title": title, "now": shown[0], "draft": shown[1], "better": draft > now, "worse": draft < now}


def _worse(batch: Any) -> list[dict[str, Any]]:
    """Questions that only the present settings answer, or answer as expected; failures."""
    rows = []
    for replay in replays_of(batch):
        summary = replay.summary
        lost = summary.get("found", [False, True]) == [True, False]
        decisions = summary.get("decision", ["", ""])
        as_expected = summary.get("found", [False, False])[1]
        unanswered = decisions[0] == "ANSWER" and decisions[1] != "ANSWER" and not as_expected
        failed = replay.status == Replay.Status.FAILED
        if lost or unanswered or failed:
            row = replay_row(replay)
            rows.append(
                row
                | {
                    "status_text": replay.get_status_display(),
                    "lost": lost,
                    "unanswered": unanswered,
                    "failed": failed,
                    "decisions": [labels.decision_label(decision) if decision else "–" for decision in decisions],
                }
            )
    return rows[:WORSE_SHOWN]
