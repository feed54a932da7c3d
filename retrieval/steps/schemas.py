"""What the structured calls give back. The prompts explain these fields by name: the schema itself is not told."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Verdict = Literal["ANSWER", "CLARIFY", "NO_ANSWER", "REFINE"]


class CondensedQuestion(BaseModel):
    standalone_question: str = Field(description="The last message as a question that needs no conversation")


class RewrittenQueries(BaseModel):
    queries: list[str] = Field(description="Search queries, each worded differently")


class ClearQuery(BaseModel):
    query: str = Field(description="The search query")


class RewrittenQuery(BaseModel):
    rewrite_reason: str = Field(default="", description="Why the last query found too little, and what is changed")
    rewritten_query: str = Field(description="The new search query")
    keywords: list[str] = Field(default_factory=list, description="Its most important words")


class HypotheticalPassage(BaseModel):
    hypothetical_passage: str = Field(description="A short passage that would answer the question")


class QuestionFilters(BaseModel):
    """What the question says about the documents it is about; `evidence` are its own words."""

    evidence: str = Field(default="", description="The question's words that name these values, copied exactly")
    department: str = Field(default="", description="One of the departments, or empty")
    doc_type: str = Field(default="", description="One of the kinds of document, or empty")
    policy_year: int | None = Field(default=None, description="One of the years, or null")


class StepBackQuery(BaseModel):
    step_back_query: str = Field(description="A broader search query")


class SubQueries(BaseModel):
    sub_queries: list[str] = Field(description="Simpler search queries that together answer the question")


class WebQuery(BaseModel):
    query: str = Field(description="A query for a search engine on the web")


class PassageScore(BaseModel):
    passage: int = Field(description="The number of the passage")
    score: float = Field(description="How well this passage answers the question, from 0 to 1")


class RetrievalJudgement(BaseModel):
    """Rerank and assessment in one call."""

    scores: list[PassageScore] = Field(description="One entry for every passage")
    missing: str = Field(default="", description="What is still missing for a full answer, in a few words")
    reason: str = Field(default="", description="Why this verdict, in one short sentence")
    verdict: Verdict
    contradictory: bool = Field(default=False, description="Only for NO_ANSWER: the passages contradict each other")
    clarifying_question: str = Field(default="", description="Only for CLARIFY: the question to ask back")
    clarifying_options: list[str] = Field(default_factory=list, description="Only for CLARIFY: two to five answers")


class DocumentVerdict(BaseModel):
    """The grade of one document; the reason comes first, so that the verdict follows from it."""

    reasoning: str = Field(default="", description="Why, in one short sentence")
    is_relevant: bool = Field(description="Whether the document holds information that the answer needs")
    confidence: float = Field(default=0.5, description="How sure this judgement is, from 0 to 1")


class ConsolidatedFact(BaseModel):
    fact: str = Field(description="What the answer says, in one short sentence that needs no context")


StrategyName = Literal["hierarchical_search", "direct_chunk_search", "web_search", "direct"]


class ChosenRoute(BaseModel):
    """Route and words of the search in one call."""

    route: StrategyName
    reason: str = Field(default="", description="Why this route, in a few words")
    standalone_question: str = Field(default="", description="The question as one that needs no conversation")
    queries: list[str] = Field(default_factory=list, description="Search queries, each worded differently")


class AnswerGrade(BaseModel):
    """Does the answer solve the question?"""

    score: float = Field(description="How well the answer solves the question, from 0 to 1")
    solves: bool = Field(description="Whether the answer solves the question")
    missing: str = Field(default="", description="What is missing or wrong, in a few search words")
    reason: str = Field(default="", description="Why, in one short sentence")


class CheckedStatement(BaseModel):
    statement: int = Field(description="The number of the statement")
    supported: bool = Field(description="Whether the passages say so")


class CheckedStatements(BaseModel):
    """Grounding of an answer's sentences in one call."""

    statements: list[CheckedStatement] = Field(description="One entry for every statement")
