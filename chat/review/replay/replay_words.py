"""What a replay does otherwise, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from chat.models import Replay
from chat.review import labels
from chat.review.replay.replay_run import NO_REVISION

LATEST = 10


def replays_of_answer(message_id: UUID) -> list[dict[str, Any]]:
    """The latest replays of an answer: what was done otherwise, and what came of it."""
    replays = Replay.objects.filter(message=message_id).defer("original", "result", "differences", "wordings")
    return [
        {
            "id": replay.pk,
            "at": replay.created_at,
            "change": change_words(replay.change),
            "status": replay.status,
            "status_text": replay.get_status_display(),
            "decisions": [labels.decision_label(name) if name else "–" for name in replay.summary.get("decision", ())],
        }
        for replay in replays.order_by("-created_at", "id")[:LATEST]
    ]


def option_label(name: str) -> str:
    """Of a question's option."""
    return _("Passages given to the model") if name == "top_k" else labels.step_label(name)


def change_words(change: Mapping[str, Any]) -> list[str]:
    """What is done otherwise, for people."""
    said: list[str] = []
    if workflow := change.get("workflow"):
        said.append(_("workflow {name}").format(name=labels.workflow_label(workflow)))
    if model := change.get("model"):
        said.append(_("model {name}").format(name=model))
    if revision := change.get("revision"):
        said.append(
            _("without boosts") if revision == NO_REVISION else _("boost revision {name}").format(name=revision[:8])
        )
    for name, value in change.get("options", {}).items():
        shown = value if not isinstance(value, bool) else _("on") if value else _("off")
        said.append(f"{option_label(name)}: {shown}")
    if "filters" in change:
        given = ", ".join(labels.filter_words(name, value) for name, value in change["filters"].items())
        said.append(_("filters {names}").format(names=given) if given else _("without filters"))
    return said or [_("nothing changed")]
