"""The evaluator of eight criteria (seed 002, LLMEvaluatorPrompt): an alternative to one overall score a passage.

The seed asks for one document a call and lets the model take the mean. Here all passages are judged in one call, as
`judge` does, and the mean is taken in code: small models add badly. It is not rounded to tenths, which would make ties
of passages that the model tells apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from pydantic import BaseModel, Field, JsonValue

from retrieval.steps.schemas import PassageScore, RetrievalJudgement, Verdict

CRITERIA = (
    "topical_alignment", "intent_alignment", "key_entity_match", "direct_answerability", "coverage_depth",
    "specificity_to_query", "temporal_fit", "language_terminology_alignment",
)  # fmt: skip
_ALL: dict[str, JsonValue] = {
    "minItems": len(CRITERIA),
    "maxItems": len(CRITERIA),
}  # of the grammar that the model writes by


class PassageCriteria(BaseModel):
    passage: int = Field(description="The number of the passage")
    criteria: list[float] = Field(
        min_length=1, description="The scores of the eight criteria in their order, 0 to 1", json_schema_extra=_ALL
    )


class CriteriaJudgement(BaseModel):
    """Eight scores for each passage, and the assessment, in one call. Fields as in `RetrievalJudgement`."""

    passages: list[PassageCriteria] = Field(description="One entry for every passage")
    missing: str = Field(default="", description="What is still missing for a full answer, in a few words")
    reason: str = Field(default="", description="Why this verdict, in one short sentence")
    verdict: Verdict
    contradictory: bool = Field(default=False, description="Only for NO_ANSWER: the passages contradict each other")
    clarifying_question: str = Field(default="", description="Only for CLARIFY: the question to ask back")
    clarifying_options: list[str] = Field(default_factory=list, description="Only for CLARIFY: two to five answers")

    def as_judgement(self) -> RetrievalJudgement:
        """A passage's score is the mean of its criteria, those that the model left out not counted."""
        scores = [
            PassageScore(passage=entry.passage, score=fmean(entry.criteria[: len(CRITERIA)])) for entry in self.passages
        ]
        return RetrievalJudgement(scores=scores, **self.model_dump(exclude={"passages"}))

    def by_passage(self) -> Mapping[str, dict[str, float]]:
        """Passage number → criterion → score, for the decision path."""
        return {str(entry.passage): dict(zip(CRITERIA, entry.criteria, strict=False)) for entry in self.passages}
