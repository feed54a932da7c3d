"""Drafts: answers that were written and graded, and that nobody has read yet; what is sent when none passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsite.core.wording import worded
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.judge.assessment import AnswerAssessment
from retrieval.text.answer_language import Language
from retrieval.values import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`answer` None: it could not be written."""

    answer: Answer | None
    graded: AnswerAssessment


def best_draft(drafts: Sequence[Draft]) -> Answer | None:
    """The draft with the highest grade among those that say something; the later one of equals."""
    written = [draft for draft in drafts if draft.answer and draft.answer.decision == "ANSWER"]
    return max(reversed(written), key=lambda draft: draft.graded.score or 0.0).answer if written else None


def passages_used(drafts: Sequence[Draft]) -> set[str]:
    """Ids of the passages that drafts were written from: those too of which no statement held."""
    written = (draft.answer for draft in drafts if draft.answer)
    answers = [answer for answer in written if answer.decision == "ANSWER" or answer.grounding]
    return {source.chunk.chunk_id for answer in answers for source in answer.sources}


def with_warning(answer: Answer, language: Language, *, reason: str) -> Answer:
    """The answer under a line that says that it may not be enough. `reason`: why it was not accepted."""
    lead = phrase("not_accepted", language) + "\n\n"
    moved = tuple(
        replace(sentence, start=sentence.start + len(lead), end=sentence.end + len(lead))
        for sentence in answer.grounding
    )
    return replace(
        answer, text=lead + answer.text, grounding=moved, reason=worded("not accepted: {reason}", reason=reason)
    )
