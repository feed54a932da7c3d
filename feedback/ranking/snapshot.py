"""All boosts of a revision as searches use them, in memory. Pure.

A search uses one `Snapshot` from beginning to end, so it never mixes two revisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from feedback.ranking.boosts import QUERY_BOUND, DocumentBoost, QueryBoost
from ragsite.core.messages import Sentence, joined, worded
from retrieval.engine.text.same_question import KnownQuestions, Wording
from retrieval.engine.values import Boosts, ChunkBoost, EmbeddingSpace


class Candidate(Protocol):
    @property
    def chunk_id(self) -> str: ...
    @property
    def document_id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualRule:
    """What staff set on a chunk or a document (`target`). question: for that one alone; None: for every one.

    expires_at: seconds since 1970-01-01; None: until somebody ends it.
    """

    target: str
    multiplier: float = 1.0
    hide: bool = False
    expires_at: float | None = None
    question: Wording | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a revision does. chunk_of: by passage, the chunk that holds its text now. wordings: by question.

    pairs: by question, others that a model found to want the same answer. space: of their vectors; None: none has one.
    """

    queries: Sequence[QueryBoost] = ()
    documents: Sequence[DocumentBoost] = ()
    chunk_of: Mapping[int, str] = field(default_factory=dict)
    wordings: Mapping[int, Wording] = field(default_factory=dict)
    pairs: Mapping[int, Sequence[int]] = field(default_factory=dict)
    space: EmbeddingSpace | None = None


class Snapshot:
    def __init__(
        self,
        content: Content,
        *,
        manual: Iterable[ManualRule] = (),
        revision: str = "",
        version: int = 0,
    ) -> None:
        self.revision = revision
        self.version = version
        self.space = content.space
        self._questions = KnownQuestions(content.wordings)
        self._pairs = content.pairs
        self._documents = {str(boost.document): boost for boost in content.documents}
        self._queries: dict[int, dict[str, QueryBoost]] = {}
        for boost in content.queries:
            if (
                chunk := content.chunk_of.get(boost.passage)
            ) and boost.question in content.wordings:
                self._queries.setdefault(boost.question, {})[chunk] = boost
        self._boosted = frozenset(chunk for own in self._queries.values() for chunk in own)
        self._rules = [rule for rule in manual if rule.question is None]
        self._own_rules = [rule for rule in manual if rule.question is not None]
        self._rule_questions = KnownQuestions(
            {
                place: rule.question
                for place, rule in enumerate(self._own_rules)
                if rule.question is not None
            }
        )

    @property
    def is_empty(self) -> bool:
        return not (self._queries or self._documents or self._rules or self._own_rules)

    def touches(self, candidates: Iterable[Candidate]) -> bool:
        """Whether votes for single questions are about any of them, so that the question has to be compared."""
        return any(candidate.chunk_id in self._boosted for candidate in candidates)

    def boosts(self, question: Wording, candidates: Sequence[Candidate], *, now: float) -> Boosts:
        """The boosts of these candidates for a question; those without one are left out.

        now: seconds since 1970-01-01.
        """
        same = (
            [self._queries[one] for one in self._same(question)] if self.touches(candidates) else []
        )
        rules = self._rules_of(question, now)
        by_chunk = {
            candidate.chunk_id: boost
            for candidate in candidates
            if (boost := self._boost(candidate, same, rules)) is not None
        }
        return Boosts(by_chunk=by_chunk, revision=self.revision)

    def _same(self, question: Wording) -> list[int]:
        """Rated questions with boosts that want the same answer: by words, by vectors, and by a model's yes to a pair
        with one of these."""
        same = self._questions.same(question)
        paired = (other for one in same for other in self._pairs.get(one, ()))
        return [one for one in dict.fromkeys((*same, *paired)) if one in self._queries]

    def _rules_of(self, question: Wording, now: float) -> dict[str, ManualRule]:
        """By chunk or document; a rule for this question goes before one for all."""
        of_question = self._rule_questions.in_same_words(question) if self._own_rules else ()
        every = (*self._rules, *(self._own_rules[place] for place in of_question))
        return {
            rule.target: rule for rule in every if rule.expires_at is None or rule.expires_at > now
        }

    def _boost(
        self,
        candidate: Candidate,
        same: Sequence[Mapping[str, QueryBoost]],
        rules: Mapping[str, ManualRule],
    ) -> ChunkBoost | None:
        own = [boosts[candidate.chunk_id] for boosts in same if candidate.chunk_id in boosts]
        document = self._documents.get(candidate.document_id)
        rule = rules.get(candidate.chunk_id) or rules.get(candidate.document_id)
        if not own and document is None and rule is None:
            return None
        multiplier = 1.0
        origins = []
        if own:
            power = sum(math.log(boost.multiplier) for boost in own)
            multiplier = math.exp(max(-QUERY_BOUND, min(QUERY_BOUND, power)))
            origins.append(_query_origin(own))
        if document is not None:
            multiplier = _with_document(multiplier, document.multiplier)
            origins.append(_document_origin(document))
        if rule is not None:
            multiplier *= rule.multiplier
            origins.append(_rule_origin(rule))
        return ChunkBoost(
            multiplier=multiplier, origin=joined("; ", origins), hide=bool(rule and rule.hide)
        )


def _with_document(multiplier: float, prior: float) -> float:
    """What is said of the document weakens votes on the passage for this question, but does not turn them round."""
    together = multiplier * prior
    if multiplier == 1.0:
        return together
    return min(together, 1.0) if multiplier < 1.0 else max(together, 1.0)


# ------------------------------------------------------------------------------------------------ for people
def _query_origin(boosts: Sequence[QueryBoost]) -> Sentence:
    up = max(boost.raters_up for boost in boosts)
    down = max(boost.raters_down for boost in boosts)
    return worded("rated for questions like this: {up} for it, {down} against it", up=up, down=down)


def _document_origin(boost: DocumentBoost) -> Sentence:
    return worded(
        "its document is rated: {up} for it, {down} against it",
        up=boost.raters_up,
        down=boost.raters_down,
    )


def _rule_origin(rule: ManualRule) -> Sentence:
    if rule.question is not None:
        return (
            worded("hidden by staff for this question")
            if rule.hide
            else worded("set by staff for this question")
        )
    return worded("hidden by staff") if rule.hide else worded("set by staff")
