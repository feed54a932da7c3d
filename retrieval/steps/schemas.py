"""What models reply in structured calls. The prompts explain these fields by name; the model is not shown the schema,
its reply is only held to it, so limits stand in `json_schema_extra`: what is read may lie outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, Field, create_model

Verdict = Literal["ANSWER", "CLARIFY", "NO_ANSWER", "REFINE"]
JudgedAs = Literal["answer", "no_answer", "ask_back"]
StrategyName = Literal["hierarchical_search", "direct_chunk_search", "web_search", "direct"]
QuestionType = Literal["factual", "multi_hop", "comparison", "multi_part", "troubleshooting"]
Complexity = Literal["simple", "medium", "complex"]
SEARCHES = ("retrieve", "text_search", "vector_search", "wide_search", "web_search")  # of the tasks of a plan
TASK_TYPES = (*SEARCHES, "rewrite", "decompose", "step_back", "hyde", "rerank", "evaluate")
CRITERIA = (
    "topical_alignment", "intent_alignment", "key_entity_match", "direct_answerability", "coverage_depth",
    "specificity_to_query", "temporal_fit", "language_terminology_alignment",
)  # fmt: skip
TOP_SCORE = 10  # of the whole numbers, from 0, that a model scores with
POINT_CHARS = 200  # of a note on a document

_Made = TypeVar("_Made", bound=BaseModel)


def shaped(schema: type[_Made], **limits: Mapping[str, Any]) -> type[_Made]:
    """`schema` with other keywords of JSON schema on its fields, for the grammar of one call; made once and kept."""
    return cast("type[_Made]", _shaped(schema, json.dumps(limits)))


@lru_cache(maxsize=256)
def _shaped(schema: type[BaseModel], limits: str) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, keywords in json.loads(limits).items():
        info = copy(schema.model_fields[name])
        known = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        info.json_schema_extra = {**known, **keywords}
        fields[name] = (info.annotation, info)
    return create_model(schema.__name__, __base__=schema, **fields)


def exactly(schema: type[_Made], field: str, count: int) -> type[_Made]:
    """`schema` by whose grammar the list `field` has exactly `count` entries."""
    return shaped(schema, **{field: {"minItems": count, "maxItems": count}})


def _limited(**keywords: Any) -> Any:
    return Field(json_schema_extra=keywords)


_Query = Annotated[str, _limited(minLength=3, maxLength=200)]
_Text = Annotated[str, _limited(minLength=3, maxLength=400)]
_Word = Annotated[str, _limited(minLength=1, maxLength=40)]
_Missing = Annotated[str, _limited(maxLength=60)]  # search words
_Score = Annotated[int, _limited(minimum=0, maximum=TOP_SCORE)]
_Number = Annotated[int, _limited(minimum=1, maximum=999)]  # of a passage


# ------------------------------------------------------------------------------------------------ questions, queries
class CondensedQuestion(BaseModel):
    standalone_question: _Text


class RewrittenQueries(BaseModel):
    queries: list[_Query]


class ClearQuery(BaseModel):
    query: _Query


class RewrittenQuery(BaseModel):
    rewrite_reason: Annotated[str, _limited(maxLength=160)] = ""
    rewritten_query: _Query
    keywords: Annotated[list[_Word], _limited(minItems=1, maxItems=6)] = []


class HypotheticalPassage(BaseModel):
    hypothetical_passage: _Text


class QuestionFilters(BaseModel):
    """What the question says about the documents it is about. evidence: its own words that name these values."""

    evidence: Annotated[str, _limited(maxLength=120)] = ""
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None


class QuestionRoute(QuestionFilters):
    """The same, and what is asked of whole documents, by their numbers. chat: nothing is asked of documents."""

    task: Literal["", "summarise", "list", "compare", "chat"] = ""
    documents: Annotated[list[int], _limited(maxItems=2)] = []


class StepBackQuery(BaseModel):
    step_back_query: _Query


class SubQueries(BaseModel):
    sub_queries: list[_Query]


class WebQuery(BaseModel):
    query: Annotated[str, _limited(minLength=3, maxLength=120)]


class ChosenRoute(BaseModel):
    """Route and words of the search in one call."""

    route: StrategyName
    standalone_question: Annotated[str, _limited(maxLength=400)] = ""
    queries: list[_Query] = []


# ------------------------------------------------------------------------------------------------ plans
class DraftedTask(BaseModel):
    id: Annotated[str, _limited(minLength=1, maxLength=4)]
    type: Annotated[str, _limited(enum=list(TASK_TYPES))]
    input: Annotated[str, _limited(maxLength=200)] = ""
    depends_on: Annotated[list[str], _limited(maxItems=4)] = []
    priority: Annotated[float, _limited(type="integer", minimum=0, maximum=9)] = 0


class DraftedPlan(BaseModel):
    query_type: Annotated[str, _limited(enum=list(get_args(QuestionType)))] = ""
    complexity: Annotated[str, _limited(enum=list(get_args(Complexity)))] = ""
    tasks: Annotated[list[DraftedTask], _limited(minItems=1)]


# ------------------------------------------------------------------------------------------------ evidence
class RetrievalJudgement(BaseModel):
    """Rerank and assessment in one call; about 20 tokens, however many passages.

    The passages are named before the verdict, so that a small model looks for one before it says whether there is one.
    """

    relevant_passages: list[int]
    verdict: JudgedAs


class PassageCriteria(BaseModel):
    """The scores of the eight criteria in their order."""

    passage: int
    criteria: list[_Score] = Field(
        min_length=1, json_schema_extra={"minItems": len(CRITERIA), "maxItems": len(CRITERIA)}
    )


class CriteriaJudgement(BaseModel):
    """Eight scores for each passage, and the assessment, in one call; about 250 tokens for ten passages."""

    passages: list[PassageCriteria]
    verdict: JudgedAs


class DocumentVerdict(BaseModel):
    """Whether one document holds information that the answer needs, and how sure this judgement is."""

    is_relevant: bool
    confidence: _Score


class SufficiencyVerdict(BaseModel):
    verdict: Literal["SUFFICIENT", "INSUFFICIENT"]
    missing: _Missing = ""


class EvidenceReflection(BaseModel):
    """Scores of the passages in their order, and of the whole, in one call; about 35 tokens for eight passages."""

    scores: list[_Score]
    completeness: _Score
    factuality: _Score


# ------------------------------------------------------------------------------------------------ answers
class AnswerGrade(BaseModel):
    """How well the answer solves the question."""

    score: _Score
    missing: _Missing


class CheckedStatements(BaseModel):
    """Whether the passages say so, for each statement in their order; about two tokens a sentence."""

    supported: list[bool]


class DocumentNote(BaseModel):
    passage: _Number
    point: Annotated[str, _limited(minLength=3, maxLength=POINT_CHARS)]


class DocumentNotes(BaseModel):
    """What a part of a document says, in the order of the passages; two or three hundred tokens."""

    notes: list[DocumentNote]


class DocumentRow(BaseModel):
    """words: the date or time, the sum, or the name, address or number, copied exactly."""

    passage: _Number
    kind: Literal["deadline", "amount", "contact"]
    words: Annotated[str, _limited(minLength=1, maxLength=120)]


class DocumentRows(BaseModel):
    """What a part of a document holds of the kinds that a list is made of; a table has many."""

    rows: Annotated[list[DocumentRow], _limited(maxItems=24)]


class CheckedRows(BaseModel):
    """The numbers of the rows that are what their kind says."""

    right: list[int]


class ConsolidatedFact(BaseModel):
    """What the answer says, in one short sentence that needs no context."""

    fact: Annotated[str, _limited(maxLength=160)]
