"""Rewrite and HyDE: other words for the search than the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retrieval.steps.schemas import HypotheticalPassage, RewrittenQueries
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import quote_history
from retrieval.trace import StepRecord
from retrieval.values import Query, Question

VARIANTS = 3  # wordings asked for
REWRITE_PROMPT = "rewrite"  # its file in retrieval/prompts
HYDE_PROMPT = "hyde"  # its file in retrieval/prompts

QUERY_CHARS = 500
_FILLER = re.compile(
    r"^(?:(?:please|hi|hello|hey|well|so|um)[,!.]?\s+)+"
    r"|\b(?:can|could|would|will) you (?:please )?(?:tell|explain|show|help|describe)(?: to)?(?: me)?"
    r"(?: with| about| understand)?\b"
    r"|\bi(?:'d| would) like to (?:know|ask|find out|understand)(?: about| if| whether)?\b"
    r"|\bi(?:'m| am) (?:trying to (?:figure out|find out|understand)|wondering)(?: about| if| whether)?\b"
    r"|\bi (?:want|need) to (?:know|find out|understand)(?: about| if| whether)?\b"
    r"|\b(?:tell|explain to|show) me(?: about)?\b|\bdo you know(?: if| whether)?\b|\bplease\b"
    r"|(?:请问|請問|我想(?:知道|了解|问|請問|問)(?:一下)?|(?:能|可以)(?:不能|不可以|否)?(?:请|請)?(?:你|您)?(?:告诉|告訴)我"
    r"|(?:麻烦|麻煩)(?:你|您)?|告诉我|告訴我|谢谢|謝謝|一下)",
    re.IGNORECASE,
)
_EDGES = " ,.!?;:，。！？；：、"


@dataclass(frozen=True, slots=True)
class Rewrite:
    tools: Toolbox

    async def rewrite(self, question: Question, draft: str, *, run: Run, language: Language) -> tuple[Query, ...]:
        """Query variants of the model; without it, the question without its filler words."""
        settings = self.tools.settings.rewrite
        async with run.trace.step("rewrite") as step:
            if not _enabled(question.options.rewrite, settings.enabled):
                step.skip("switched off")
                return ()
            texts = await attempt(
                step,
                self._ask_model(question, draft, language),
                fallback=lambda: [without_filler(draft)],
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
                first_search=run.first_search,
            )
            variants = distinct(texts, other_than=draft)[:VARIANTS]
            _describe(step, variants)
            return tuple(Query(text, kind="rewrite") for text in variants)

    async def _ask_model(self, question: Question, draft: str, language: Language) -> list[str]:
        result = await self.tools.complete(
            "fast",
            REWRITE_PROMPT,
            RewrittenQueries,
            language=language,
            history=_history(question, self.tools),
            question=_to_search(question, draft),
            variants=VARIANTS,
        )
        return result.queries


@dataclass(frozen=True, slots=True)
class Hyde:
    """Hypothetical document embeddings. Source: Gao et al., ACL 2023, arXiv:2212.10496; seed 003 §2.3."""

    tools: Toolbox

    async def imagine(self, question: Question, draft: str, *, run: Run, language: Language) -> tuple[Query, ...]:
        """One vector-only query: a passage that would answer the question. Nothing when there is no model."""
        async with run.trace.step("hyde") as step:
            if not _enabled(question.options.hyde, self.tools.settings.hyde.enabled):
                step.skip("switched off")
                return ()
            text = await attempt(
                step,
                self._ask_model(question, draft, language),
                fallback=str,
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
                first_search=run.first_search,
            )
            passage = " ".join(text.split())
            step.summary = step.summary or passage[:120]
            step.detail["passage"] = passage
            return (Query(passage, kind="hyde", vector_only=True),) if passage else ()

    async def _ask_model(self, question: Question, draft: str, language: Language) -> str:
        result = await self.tools.complete(
            "fast",
            HYDE_PROMPT,
            HypotheticalPassage,
            language=language,
            history=_history(question, self.tools),
            question=_to_search(question, draft),
        )
        return result.hypothetical_passage


def without_filler(text: str) -> str:
    """The question without politeness and lead-in words; the question itself when nothing would be left."""
    kept = " ".join(_FILLER.sub(" ", text).split()).strip(_EDGES)
    return kept or text.strip()


def distinct(texts: list[str], *, other_than: str) -> list[str]:
    """Cleaned texts in order, each once, without empty ones and without `other_than`."""
    cleaned = (" ".join(text.split())[:QUERY_CHARS] for text in texts)
    seen = {_key(other_than), ""}
    kept: list[str] = []
    for text in cleaned:
        if _key(text) not in seen:
            seen.add(_key(text))
            kept.append(text)
    return kept


def _key(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES).casefold()


def _enabled(asked: bool | None, default: bool) -> bool:
    return default if asked is None else asked


def _history(question: Question, tools: Toolbox) -> str:
    return quote_history(question.history)


def _to_search(question: Question, draft: str) -> str:
    """A reply to a question asked back is searched together with that question; else the user's words, with history."""
    return draft if question.open_clarification else question.text


def _describe(step: StepRecord, variants: list[str]) -> None:
    step.detail["queries"] = variants
    step.summary = step.summary or ("; ".join(variants) or "no other wording")
