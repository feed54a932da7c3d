"""A question or an answer as a shared conversation shows it: text and sources, none of what its owner alone may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from chat.messages.data import weak_sentences
from chat.messages.rendering import reachable, render_answer
from chat.messages.spans import cited_page
from chat.models import Message, Source
from ragsite.core.localized import localized
from ragsite.core.wording import worded

NOT_COMPLETE = worded("This answer is not complete.")


def shared_entry(message: Message, number: int, *, sources: Sequence[Source], hidden: Sequence[int]) -> dict[str, Any]:
    """What the template reads. number: of the entry in the page; it tells its sources from those of the others.

    sources, hidden: what it cites and the reader may read, and the markers of the rest.
    """
    if message.role == Message.Role.USER:
        return {"is_question": True, "text": message.text, "id": message.pk}
    return {
        "is_question": False,
        "id": message.pk,
        "html": _html(message, number, markers=[*(source.marker for source in sources), *hidden]),
        "ending": "" if message.status == Message.Status.COMPLETE else localized(NOT_COMPLETE),
        "sources": [
            {
                "marker": source.marker,
                "anchor": f"source-{number}-{source.marker}",
                "source": source,
                "page": cited_page(source),
            }
            for source in sources
        ],
        "hidden": [{"marker": marker, "anchor": f"source-{number}-{marker}"} for marker in hidden],
    }


def _html(message: Message, number: int, *, markers: Sequence[int]) -> SafeString:
    """Sanitised by `render_answer`; its citations lead to the sources of this answer."""
    html = reachable(render_answer(message.text, markers=markers, weak=weak_sentences(message.grounding or [])))
    return mark_safe(html.replace('href="#source-', f'href="#source-{number}-'))  # noqa: S308
