"""The form by which a curator writes a checked answer for a gap: its questions are there, passages are searched for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.models import Message
from chat.review.desk_page import desk_page
from chat.review.roles import DeskAccess
from feedback.curation.curated import CuratedPassage
from feedback.desk.acting import problem_sentence
from feedback.desk.curated_pages import MAX_WORDINGS, CuratedForm
from feedback.models import KnowledgeGap
from feedback.requests.gap_answers import gap_answered, gap_wordings
from feedback.requests.replying import MOST_PASSAGES, readable_chunks
from ragsite.core.errors import AppError
from retrieval.engine.text.markers import cited_markers
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Chunk

NEAREST = 5  # passages that the newest answer was given
MOST_CHARS = 600  # of a question


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def gap_answer(request: HttpRequest, *, access: DeskAccess, gap_id: int) -> HttpResponse:
    """What was entered stays where it is not taken."""
    gap = get_object_or_404(KnowledgeGap, pk=gap_id)
    newest = gap.questions.order_by("-message__created_at", "-pk").first()
    message = newest.message if newest else None
    chunks = _chunks(request, access, message)
    passages = {
        number: CuratedPassage(chunk.document_id, chunk.document.title[:300], chunk.text)
        for number, chunk in enumerate(chunks, 1)
    }
    form = CuratedForm(request.POST or None, initial=_initial(gap), passages=passages)
    named = len(request.POST.getlist("passage"))
    if named > len(chunks):  # the numbers after it mean others now
        form.add_error(None, _("A passage is not there any more, or you may not read it."))
    if request.method == "POST" and form.is_valid():
        markers = sorted(cited_markers(form.cleaned_data["text"]))
        cited = [chunks[marker - 1] for marker in markers]
        try:
            left = _save(form, access, gap, message, cited)
        except AppError as error:
            form.add_error(None, problem_sentence(error))
        else:
            messages.success(request, _said(left))
            return redirect("review_gap", gap_id=gap.pk)
    context = {
        "section": "review",
        "gap": gap,
        "form": form,
        "passages": chunks,
        "most_passages": MOST_PASSAGES,
        "words": form["question"].value() or "",
    }
    return render(request, "review/gap_answer.html", context, status=400 if form.errors else 200)


@transaction.atomic
def _save(
    form: CuratedForm,
    access: DeskAccess,
    gap: KnowledgeGap,
    message: Message | None,
    cited: Sequence[Chunk],
) -> int:
    curated = form.save(access=access, message=message, answer=None)
    return gap_answered(access=access, gap=gap, curated=curated, chunks=cited)


def _said(left: int) -> str:
    saved = _("From now on, whoever asks this question gets this answer.")
    if not left:
        return saved
    others = ngettext(
        "{count} question here is not answered by it yet.",
        "{count} questions here are not answered by it yet.",
        left,
    )
    return f"{saved} {others.format(count=left)}"


def _initial(gap: KnowledgeGap) -> dict[str, Any]:
    lines = [line for line in gap_wordings(gap) if len(line) <= MOST_CHARS]
    wordings = "\n".join(lines[1 : MAX_WORDINGS + 1])
    return {"question": lines[0] if lines else "", "wordings": wordings}


def _chunks(request: HttpRequest, access: DeskAccess, message: Message | None) -> list[Chunk]:
    """Those that were chosen, in their order; before that the nearest ones, as far as this person may read them."""
    if request.method == "POST":
        named = request.POST.getlist("passage")
    else:
        sources = message.sources.filter(kind="document").order_by("marker") if message else ()
        named = [source.chunk_id for source in sources][:NEAREST]
    keys: list[UUID] = [key for key in map(as_uuid, named[:MOST_PASSAGES]) if key]
    found = readable_chunks(access.user).in_bulk(keys)
    return [found[key] for key in keys if key in found]
