"""What models reply in structured calls. The prompts explain these fields by name; the model is not shown the schema,
its reply is only held to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, Field, JsonValue, create_model

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
# Of the grammar that the model writes by; what is read may lie outside, which is then no judgement.
_ZERO_TO_TOP: dict[str, JsonValue] = {"minimum": 0, "maximum": TOP_SCORE}
_WholeScore = Annotated[int, Field(json_schema_extra=_ZERO_TO_TOP)]


# ------------------------------------------------------------------------------------------------ made for one call
_Made = TypeVar("_Made", bound=BaseModel)
_Limits = tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]


def exactly(schema: type[_Made], field: str, count: int) -> type[_Made]:
    """`schema` by whose grammar the list `field` has exactly `count` entries. What is read may have more or fewer."""
    return shaped(schema, **{field: {"minItems": count, "maxItems": count}})


def one_of(schema: type[_Made], **choices: Iterable[str | int | None]) -> type[_Made]:
    """`schema` by whose grammar each of these fields has one of its values."""
    return shaped(schema, **{field: {"enum": list(values)} for field, values in choices.items()})


def shaped(schema: type[_Made], **limits: Mapping[str, Any]) -> type[_Made]:
    """`schema` with other keywords of JSON schema on its fields, for the grammar of one call; made once and kept."""
    frozen = ((name, tuple((key, _hashable(value)) for key, value in keys.items())) for name, keys in limits.items())
    return cast("type[_Made]", _shaped(schema, tuple(frozen)))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=256)
def _shaped(schema: type[BaseModel], limits: _Limits) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, keys in limits:
        info = copy(schema.model_fields[name])
        known = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        wanted = {key: list(value) if isinstance(value, tuple) else value for key, value in keys}
        info.json_schema_extra = {**known, **wanted}
        fields[name] = (info.annotation, info)
    return create_model(schema.__name__, __base__=schema, **fields)


def _chars(most: int, *, least: int = 0) -> Any:
    """Of a text that a model writes; a longer one is read all the same."""
    limits: dict[str, JsonValue] = {"minLength": least, "maxLength": most} if least else {"maxLength": most}
    return Field(json_schema_extra=limits)


_Query = Annotated[str, _chars(200, least=3)]
_Sentence = Annotated[str, _chars(160)]
_Word = Annotated[str, _chars(40, least=1)]


# ------------------------------------------------------------------------------------------------ questions, queries


class CondensedQuestion(BaseModel):
    standalone_question: Annotated[str, _chars(400, least=3)] = Field(
        description="The last message as a question that needs no conversation"
    )


class RewrittenQueries(BaseModel):
    queries: list[_Query] = Field(description="Search queries, each worded differently")


class ClearQuery(BaseModel):
    query: _Query = Field(description="The search query")


class RewrittenQuery(BaseModel):
    rewrite_reason: _Sentence = Field(default="", description="Why the last query found too little, and what changes")
    rewritten_query: _Query = Field(description="The new search query")
    keywords: list[_Word] = Field(
        default_factory=list,
        description="Its most important words",
        json_schema_extra={"minItems": 1, "maxItems": 6},
    )


class HypotheticalPassage(BaseModel):
    hypothetical_passage: Annotated[str, _chars(400, least=3)] = Field(
        description="A short passage that would answer the question"
    )


class QuestionFilters(BaseModel):
    """What the question says about the documents it is about; `evidence` are its own words."""

    evidence: Annotated[str, _chars(120)] = Field(
        default="", description="The question's words that name these values, copied exactly"
    )
    department: Annotated[str, _chars(80)] = Field(default="", description="One of the departments, or empty")
    doc_type: Annotated[str, _chars(80)] = Field(default="", description="One of the kinds of document, or empty")
    policy_year: int | None = Field(default=None, description="One of the years, or null")


class QuestionRoute(QuestionFilters):
    """The same, and what is asked of whole documents."""

    task: Literal["", "summarise", "list", "compare"] = Field(
        default="", description="What is asked of whole documents, or empty"
    )
    documents: list[int] = Field(
        default_factory=list, description="The numbers of these documents", json_schema_extra={"maxItems": 2}
    )


class StepBackQuery(BaseModel):
    step_back_query: _Query = Field(description="A broader search query")


class SubQueries(BaseModel):
    sub_queries: list[_Query] = Field(description="Simpler search queries that together answer the question")


class WebQuery(BaseModel):
    query: Annotated[str, _chars(120, least=3)] = Field(description="A query for a search engine on the web")


class ChosenRoute(BaseModel):
    """Route and words of the search in one call."""

    route: StrategyName
    standalone_question: Annotated[str, _chars(400)] = Field(
        default="", description="The question as one that needs no conversation"
    )
    queries: list[_Query] = Field(default_factory=list, description="Search queries, each worded differently")


class FollowUpQuery(BaseModel):
    query: _Query = Field(description="A search query that names what was found")


# ------------------------------------------------------------------------------------------------ plans
class DraftedTask(BaseModel):
    id: Annotated[str, _chars(4, least=1)] = Field(description="t1, t2, …")
    type: str = Field(description="What to do", json_schema_extra={"enum": list(TASK_TYPES)})
    input: Annotated[str, _chars(200)] = Field(default="", description="The query or question that it works on")
    depends_on: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": 4})
    priority: float = Field(
        default=0,
        description="Higher ones start first",
        json_schema_extra={"type": "integer", "minimum": 0, "maximum": 9},
    )


class DraftedPlan(BaseModel):
    query_type: str = Field(default="", json_schema_extra={"enum": list(get_args(QuestionType))})
    complexity: str = Field(default="", json_schema_extra={"enum": list(get_args(Complexity))})
    tasks: list[DraftedTask] = Field(json_schema_extra={"minItems": 1})


# ------------------------------------------------------------------------------------------------ evidence
class RetrievalJudgement(BaseModel):
    """Rerank and assessment in one call; about 20 tokens, however many passages. See `judgement_of`.

    The passages are named before the verdict, so that a small model looks for one before it says whether there is one.
    """

    relevant_passages: list[int] = Field(description="The numbers of the passages that state what is asked for")
    verdict: JudgedAs = Field(description="The verdict on the passages together")


class PassageCriteria(BaseModel):
    passage: int = Field(description="The number of the passage")
    criteria: list[_WholeScore] = Field(
        min_length=1,
        description="The scores of the eight criteria in their order, 0 to 10",
        json_schema_extra={"minItems": len(CRITERIA), "maxItems": len(CRITERIA)},
    )


class CriteriaJudgement(BaseModel):
    """Eight scores for each passage, and the assessment, in one call; about 250 tokens for ten passages."""

    passages: list[PassageCriteria] = Field(description="One entry for every passage")
    verdict: JudgedAs = Field(description="The verdict on the passages together")


@lru_cache(maxsize=64)
def judgement_of(count: int) -> type[RetrievalJudgement]:
    """The schema of a judgement of `count` passages: at most so many numbers, each of one of them."""
    number = Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": count})]
    numbers: Any = Field(
        description=RetrievalJudgement.model_fields["relevant_passages"].description,
        json_schema_extra={"maxItems": count},
    )
    fields: dict[str, Any] = {"relevant_passages": (list[number], numbers)}
    return create_model(RetrievalJudgement.__name__, __base__=RetrievalJudgement, **fields)


def criteria_of(count: int) -> type[CriteriaJudgement]:
    """The same by eight criteria."""
    return exactly(CriteriaJudgement, "passages", count)


class DocumentVerdict(BaseModel):
    """The grade of one document."""

    is_relevant: bool = Field(description="Whether the document holds information that the answer needs")
    confidence: _WholeScore = Field(description="How sure this judgement is, from 0 to 10")


class SufficiencyVerdict(BaseModel):
    verdict: Literal["SUFFICIENT", "INSUFFICIENT"]
    missing: str = Field(
        default="", description="What is still missing, in a few search words", json_schema_extra={"maxLength": 60}
    )


class EvidenceReflection(BaseModel):
    """Scores of the passages and of the whole, in one call; about 35 tokens for eight passages. See
    `reflection_of`."""

    scores: list[_WholeScore] = Field(description="The relevance score of each passage, 0 to 10, in their order")
    completeness: _WholeScore = Field(description="How much of the question the passages answer together, 0 to 10")
    factuality: _WholeScore = Field(description="How far they agree with each other and with the question's facts")


def reflection_of(count: int) -> type[EvidenceReflection]:
    """The schema of a reflection on `count` passages: exactly so many scores."""
    return exactly(EvidenceReflection, "scores", count)


# ------------------------------------------------------------------------------------------------ answers
class AnswerGrade(BaseModel):
    """Does the answer solve the question?"""

    score: _WholeScore = Field(description="How well the answer solves the question, from 0 to 10")
    missing: str = Field(
        description="What is missing or wrong, in a few search words", json_schema_extra={"maxLength": 60}
    )


class CheckedStatements(BaseModel):
    """Grounding of an answer's sentences in one call; about two tokens a sentence."""

    supported: list[bool] = Field(description="Whether the passages say so, for each statement in their order")


POINT_CHARS = 200  # of a note on a document


class DocumentNote(BaseModel):
    passage: int = Field(
        description="The number of the passage that says it", json_schema_extra={"minimum": 1, "maximum": 999}
    )
    point: Annotated[str, _chars(POINT_CHARS, least=3)] = Field(description="What it says, in one sentence")


class DocumentNotes(BaseModel):
    """What a part of a document says; two or three hundred tokens."""

    notes: list[DocumentNote] = Field(description="The points, in the order of the passages")


class DocumentRow(BaseModel):
    passage: int = Field(
        description="The number of the passage that it stands in", json_schema_extra={"minimum": 1, "maximum": 999}
    )
    kind: Literal["deadline", "amount", "contact"]
    words: Annotated[str, _chars(120, least=1)] = Field(
        description="The date or time, the sum, or the name, address or number, copied exactly"
    )


class DocumentRows(BaseModel):
    """What a part of a document holds of the kinds that a list is made of; a table has many."""

    rows: list[DocumentRow] = Field(
        description="In the order of the passages; empty where there are none", json_schema_extra={"maxItems": 24}
    )


class CheckedRows(BaseModel):
    right: list[int] = Field(description="The numbers of the rows that are what their kind says")


class ConsolidatedFact(BaseModel):
    fact: Annotated[str, _chars(160)] = Field(
        description="What the answer says, in one short sentence that needs no context"
    )
