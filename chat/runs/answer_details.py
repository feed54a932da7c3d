"""The rows that belong to an answer: its sources, its decision path, the prompts of its calls.

They are stored while the row of the answer is locked.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction

from chat.messages.sources import source_columns, source_spans
from chat.models import DecisionStep, FilledPrompt, Message, Source
from ragsite.core.text import clean_json, clean_text
from retrieval.engine import values
from retrieval.engine.ports import Prompt
from retrieval.engine.trace import StepRecord

PROMPT_CHARS = 60_000  # of one call
PROMPTS_KEPT = 60  # of one answer


@transaction.atomic(savepoint=False)
def sources_store(message: Message, sources: Sequence[values.AnswerSource]) -> None:
    """Rows that are there already stay, with what users said of them; what is cited, and where, may have changed.

    While the answer is being written, its text is not known here, and where it is cited is left for the end.
    """
    there = {row.marker: row for row in message.sources.order_by()}
    new = list[Source]()
    gone = list[Source]()
    changed = list[Source]()
    for source in sources:
        row = there.pop(source.marker, None)
        if row is None or row.chunk_id != source.chunk.chunk_id[:100]:
            new.append(_source_row(message, source))
            if row is not None:
                gone.append(row)
        else:
            row.cited = source.cited
            row.spans = _spans(message, source) if message.text else row.spans
            changed.append(row)
    Source.objects.filter(pk__in=[row.pk for row in [*gone, *there.values()]]).delete()
    Source.objects.bulk_create(new)
    Source.objects.bulk_update(changed, ["cited", "spans"])


def _spans(message: Message, source: values.AnswerSource) -> list[dict[str, Any]]:
    return source_spans(source, answer=message.text, grounding=message.grounding or [])


def _source_row(message: Message, source: values.AnswerSource) -> Source:
    fields = source_columns(source) | {"spans": _spans(message, source)}
    if document_id := fields["document_id"]:
        fields["document_id"] = uuid.UUID(document_id)
    return Source(message=message, **fitted(Source, fields))


def step_row(message: Message, step: StepRecord) -> DecisionStep:
    fields: dict[str, Any] = clean_json(step.as_dict())
    fields |= {"started_ms": max(0, step.started_ms), "duration_ms": max(0, step.duration_ms)}
    return DecisionStep(message=message, **fitted(DecisionStep, fields))


def prompts_store(message: Message, steps: Sequence[StepRecord]) -> None:
    """As they were filled, where the site keeps them and the conversation; of each PROMPT_CHARS at most, its end left
    out."""
    if not settings.RAG.retention.paths_days or not message.session.kept:
        return
    prompts = [
        (step.seq, number, call.prompt)
        for step in steps
        for number, call in enumerate(step.calls)
        if call.prompt is not None
    ]
    FilledPrompt.objects.bulk_create(
        FilledPrompt(
            message=message,
            step=step,
            call=number,
            name=prompt.name[:100],
            withheld=prompt.personal,
            packed=b"" if prompt.personal else zlib.compress(_prompt_text(prompt).encode()),
        )
        for step, number, prompt in prompts[:PROMPTS_KEPT]
    )


def _prompt_text(prompt: Prompt) -> str:
    return clean_text(f"{prompt.system}\n\n---\n\n{prompt.user}")[:PROMPT_CHARS]


def fitted(model: type[Source | DecisionStep], fields: dict[str, Any]) -> dict[str, Any]:
    """Texts cut to the length of their columns."""
    lengths = {name: getattr(model._meta.get_field(name), "max_length", None) for name in fields}
    return {
        name: value[: lengths[name]] if isinstance(value, str) else value
        for name, value in fields.items()
    }
