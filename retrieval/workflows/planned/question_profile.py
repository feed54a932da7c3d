"""Understanding a question by rules: its type, how complex it is, what it names. English and Chinese.

Source: seed 002 §8.3 (intent, entities; simple, medium and complex questions get plans of different length).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from retrieval.steps.query.question_parts import choose_transformation, split_question, step_back_without_model
from retrieval.steps.query.question_parts import is_comparison as compares
from retrieval.steps.schemas import Complexity, QuestionType

MAX_ENTITIES = 6

# "the deposit of the hall that Anna lives in", "the head of the department which runs …": one fact leads to the next
_HOP = re.compile(
    r"\b(?:the|a|an) \w+ (?:that|which|who|whose|where)\b|\bwhose\b"
    r"|\b(?:of|in|at|for|by) the \w+ (?:of|in|at|by) the \w+"
    r"|所在的|所属的|所屬的|负责的|負責的|对应的|對應的|其所|的[^，。？?]{1,8}的[^，。？?]{1,8}的",
    re.IGNORECASE,
)
_TODAY = re.compile(
    r"\b(?:today|right now|at the moment|currently|latest|newest|most recent|this (?:week|month)|up[- ]to[- ]date)\b"
    r"|最新|目前|现在|現在|今天|当前|當前|近期|如今",
    re.IGNORECASE,
)
_ENTITY = re.compile(
    r"[\"“「『《]([^\"”」』》]{1,60})[\"”」』》]"  # what is quoted
    r"|(?<![\w-])((?=[A-Za-z0-9_./-]{0,40}\d)[A-Za-z0-9][A-Za-z0-9_./-]*\w|\d+)"  # codes, numbers, years
    r"|(?<=[a-z,;:] )([A-Z][\w-]+(?: [A-Z][\w-]+)*)"  # names inside an English sentence
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """`parts`: simpler questions that a compound one consists of, else none. `broader`: the question behind a very
    specific one, else empty. `today`: it asks about the present state of things."""

    type: QuestionType = "factual"
    complexity: Complexity = "simple"
    parts: tuple[str, ...] = ()
    broader: str = ""
    entities: tuple[str, ...] = ()
    today: bool = False


def understand(question: str) -> Profile:
    """Pure; a few ms. Never wrong in a way that hurts: a type only decides which plan serves where no model plans."""
    parts = tuple(split_question(question))
    kind, complexity, broader = "factual", "simple", ""
    if parts:
        kind, complexity = ("comparison" if compares(question) else "multi_part"), "complex"
    elif choose_transformation(question) == "step_back":
        kind, complexity, broader = "troubleshooting", "medium", step_back_without_model(question)
    elif _HOP.search(question):
        kind, complexity = "multi_hop", "medium"
    return Profile(
        type=kind,  # type: ignore[arg-type]
        complexity=complexity,  # type: ignore[arg-type]
        parts=parts,
        broader=broader,
        entities=entities_in(question),
        today=asks_about_today(question),
    )


def entities_in(question: str) -> tuple[str, ...]:
    """Quoted words, codes, numbers and names, in order, each once."""
    entities = (next(filter(None, groups)) for groups in _ENTITY.findall(question))
    return tuple(dict.fromkeys(entities))[:MAX_ENTITIES]


def asks_about_today(question: str) -> bool:
    return bool(_TODAY.search(question))
