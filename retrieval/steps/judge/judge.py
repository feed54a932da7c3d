"""Rerank and assess in one structured call over numbered passages, where the trained estimate is not sure by itself.

Source: seed 003 §2.5 (scores for the first N candidates) and §2.6 (CRAG: ANSWER, CLARIFY, REFINE, NO_ANSWER). The model
names the passages that answer and says whether any does, in some 20 tokens, since every token is waited for before the
answer's first word; the scores that a model of 1.5B gives tell nothing (docs/evaluation.md).

With the setting `rerank.evaluator` = best_passage, and a server that tells how probable a word was, the model is asked
about the likeliest passage alone, for one word, which weighs by its probability: a small model tells near misses better
so (docs/evaluation.md). With eight_criteria (seed 002, LLMEvaluatorPrompt) a passage's score is the mean of eight, for
some 250 tokens, and the word follows from the scores. The seed asks about one document a call and lets the model
take the mean; here all are in one call, and the mean is taken in code: small models add badly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ragsite.core.wording import counted, worded
from retrieval.answerability import Estimate
from retrieval.providers import rerank_http
from retrieval.steps.judge import evaluator
from retrieval.steps.judge.blending import check_named, check_scores, passage_odds, says_yes, shifted
from retrieval.steps.judge.evaluator import (
    Assessment,
    Evaluator,
    Evidence,
    Opinion,
    best_score,
    is_of_the_web,
    scores_by_chunk,
)
from retrieval.steps.schemas import TOP_SCORE, VERDICTS, JudgedAs, Verdict, criteria_of, judgement_of
from retrieval.steps.step import Context, Step
from retrieval.text.numbers import numbers_in
from retrieval.text.quoting import label
from retrieval.text.snippet import best_window
from retrieval.trace import StepRecord
from retrieval.values import ScoredChunk

PROMPT = "rerank_assess"  # its file in retrieval/prompts
CRITERIA_PROMPT = "rerank_criteria"  # its file in retrieval/prompts, with eight_criteria
YES_PROMPT = "answered"  # its file in retrieval/prompts, with best_passage
MIN_SCORE = 0.0  # candidates below it are dropped
BESIDE = 3  # best passages so far that those newly found are compared with
SHOWN_SHARE = 0.02  # of the best passage's probability: those below it are not shown to a model, whatever their number
LEAST_SHOWN = 5  # passages that it is shown all the same
RIVAL_SHARE = 0.5  # of the best candidate's probability, from which another document's competes with it
TOGETHER = 3  # passages that are shown for a yes or no
FIGURES_CHARS = 240  # of each, around the sentence nearest to the question, whose figures are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved(Evidence):
    """`before`: what earlier searches came to; the passages are new then.

    may_raise: whether these passages can make the answer likelier than they were before. Not where the same words were
    searched for once more: the best of several estimates is higher than each, whatever is in the documents.
    use_reranker: where there is one. line: see `Evaluator.ask_judge`.
    """

    before: Assessment | None = None
    may_raise: bool = True
    use_reranker: bool = True
    line: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A model's scores, 0..10, one for each passage that it was shown, by their places in the list; None where it said
    nothing of it. `yes`: whether the passages answer, by its word."""

    shown: Sequence[int]
    scores: Sequence[float | None]
    verdict: JudgedAs
    yes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """`candidates`: best first. `opinion`: the estimate for all of them, blended with the model's word where there is
    one; `reranker`: the cross-encoder's name, where its scores serve. `failure`: why a fallback served."""

    question: str
    candidates: tuple[ScoredChunk, ...]
    estimate: Estimate
    opinion: Opinion[Judgement]
    reranker: str = ""
    failure: str = ""


async def judge(context: Context, evidence: Retrieved) -> Assessment:
    """Scores and a verdict. Where there is a cross-encoder its scores serve; else, or where it fails, the trained
    estimate, blended with the model's word where that can change the outcome.

    After an earlier search the verdict is on all candidates; REFINE where nothing new was found. Never raises a
    ModelError.
    """
    if evidence.before and not evidence.passages:
        return replace(evidence.before, verdict="REFINE")
    assessment = await Assess(context)(await Rerank(context)(evidence))
    if evidence.before is None:
        return assessment
    good = context.tools.settings.corrective.good_score
    return combine(evidence.before, assessment, may_raise=evidence.may_raise, good=good)


class Rerank(Evaluator[Retrieved, Reranked]):
    """Every candidate's `scores.rerank` is a probability: the estimate's, moved by what the model's score is worth, or
    the cross-encoder's."""

    name = "rerank"
    labelled = True

    async def act(self, given: Retrieved, entry: StepRecord) -> Reranked:
        pool = tuple(given.passages[: self.settings.rerank.max_candidates])
        estimate = await self.estimate(given, pool, beside=given.before.candidates[:BESIDE] if given.before else ())
        probability = estimate.answerability
        if given.before and not given.may_raise:
            probability = min(probability, given.before.answerability)
        scores: Sequence[float] = estimate.passages
        opinion: Opinion[Judgement] = Opinion(probability=probability)
        reranker = ""
        if not pool:
            entry.skip(worded("nothing was found"))
        elif given.use_reranker and (crossed := await self._cross_encoded(given.question, pool, entry)):
            scores, reranker = crossed, self.tools.reranker.name if self.tools.reranker else ""
        else:
            opinion = await self.ask_judge(
                entry,
                given,
                probability,
                lambda: self._ask(given, pool, estimate, entry),
                said=lambda judgement: judgement.yes,
                line=given.line,
                weigh=(lambda: self._weigh(given, pool, estimate)) if self._by_best_passage else None,
            )
            if opinion.reply and opinion.judge:
                given_scores = dict(zip(opinion.reply.shown, opinion.reply.scores, strict=True))
                scores = passage_odds(estimate.passages, list(map(given_scores.get, range(len(pool)))), opinion.judge)
                entry.detail["given"] = {pool[at].chunk_id: score for at, score in given_scores.items()}
            elif opinion.why_not and entry.status != "degraded":  # unless the cross-encoder was asked, and failed
                entry.skip(opinion.why_not)
        ranked = self.rank(pool, scores)
        kept = tuple(candidate for candidate in ranked if (candidate.scores.rerank or 0.0) >= MIN_SCORE)
        kept = kept or ranked[:1]  # so that there is something to judge
        entry.detail["scores"] = scores_by_chunk(kept)
        entry.detail["lexical"] = [round(value, 3) for value in estimate.passages]
        if kept and entry.status != "skipped":
            best = worded("best {score:.2f}: {title}", score=kept[0].scores.rerank or 0.0, title=kept[0].chunk.title)
            entry.summary = worded(
                "{passages}; {best}", passages=counted("{count} passage", "{count} passages", len(kept)), best=best
            )
        failure = entry.detail["reason"] if entry.status == "degraded" else ""
        return Reranked(
            question=given.question,
            candidates=kept,
            estimate=estimate,
            opinion=opinion,
            reranker=reranker,
            failure=failure,
        )

    async def _cross_encoded(self, question: str, pool: Sequence[ScoredChunk], entry: StepRecord) -> list[float] | None:
        reranker = self.tools.reranker
        if reranker is None:
            return None

        def texts() -> list[str]:
            length, chunks = evaluator.SNIPPET_LENGTH, [candidate.chunk for candidate in pool]
            return [f"{label(chunk)}\n{best_window(chunk.text, question, length)}" for chunk in chunks]

        work: Coroutine[Any, Any, list[float] | None] = reranker.rerank(question, await asyncio.to_thread(texts))
        scores = await self.attempt(entry, work, fallback=lambda: None, limit_s=rerank_http.TIMEOUT_S)
        entry.detail["reranker"] = reranker.name
        return scores

    @property
    def _by_best_passage(self) -> bool:
        return self.settings.rerank.evaluator == "best_passage"

    async def asked_by(self) -> tuple[str, bool]:
        """The prompt's name, and whether the word's probability is told. Raises ModelError."""
        if self._by_best_passage and await self._tells_probabilities():
            return YES_PROMPT, True
        return (CRITERIA_PROMPT if self.settings.rerank.evaluator == "eight_criteria" else PROMPT), False

    async def word(
        self, given: Retrieved, pool: Sequence[ScoredChunk], estimate: Estimate, entry: StepRecord
    ) -> Judgement:
        """The model's judgement, in the form that the settings and its server allow, wherever the estimate lies. Raises
        ModelError, a ModelOutputError for what is no judgement."""
        _, weighed = await self.asked_by()
        if weighed:
            return (await self._weigh(given, pool, estimate))[0]
        return await self._ask(given, pool, estimate, entry)

    async def _ask(
        self, given: Retrieved, pool: Sequence[ScoredChunk], estimate: Estimate, entry: StepRecord
    ) -> Judgement:
        """Raises ModelError, also for what is no judgement."""
        shown = worth_showing(estimate.passages)
        passages, probabilities = [pool[at] for at in shown], [estimate.passages[at] for at in shown]
        count = len(shown)
        if self.settings.rerank.evaluator == "eight_criteria":
            by_criteria = await self.ask_about(
                passages, given.question, CRITERIA_PROMPT, criteria_of(count), probabilities=probabilities, count=count
            )
            entry.detail["criteria"] = by_criteria.by_passage()
            scores = by_criteria.scores(count)
            check_scores(scores)
            return Judgement(shown=shown, scores=scores, verdict=by_criteria.verdict, yes=says_yes(scores))
        reply = await self.ask_about(
            passages, given.question, PROMPT, judgement_of(count), probabilities=probabilities, count=count
        )
        yes, named = reply.says_yes, reply.relevant_passages
        check_named(named, count, yes=yes)
        if yes:  # of those that it did not name it says nothing: small models name one where several answer
            scores = [float(TOP_SCORE) if number in named else None for number in range(1, count + 1)]
        else:  # also of one that it named: small models name the nearest one beside a no
            scores = [0.0] * count
        return Judgement(shown=shown, scores=scores, verdict=reply.verdict, yes=yes)

    async def _weigh(
        self, given: Retrieved, pool: Sequence[ScoredChunk], estimate: Estimate
    ) -> tuple[Judgement, float]:
        """The model's yes or no about the likeliest passage, and P(yes). Passages about as likely are shown with it: an
        answer may be put together of several. Raises ModelError."""
        shown = likeliest(estimate.passages)
        passages, probabilities = [pool[at] for at in shown], [estimate.passages[at] for at in shown]
        probability = await self.yes_about(passages, given.question, YES_PROMPT, probabilities=probabilities)
        yes = probability >= 0.5
        scores = [TOP_SCORE * probability if len(shown) == 1 or not yes else None] * len(shown)
        return Judgement(shown=shown, scores=scores, verdict="ANSWER" if yes else "NO_ANSWER", yes=yes), probability


def likeliest(probabilities: Sequence[float]) -> list[int]:
    """Places, in their order, of the likeliest passage and of those about as likely, TOGETHER at most."""
    least = RIVAL_SHARE * max(probabilities, default=0.0)
    best = sorted(range(len(probabilities)), key=lambda at: -probabilities[at])[:TOGETHER]
    return sorted(at for at in best if probabilities[at] >= least)


def worth_showing(probabilities: Sequence[float]) -> list[int]:
    """Places of the passages that a model is shown, in their order: the likeliest, and all that are not far below."""
    least = SHOWN_SHARE * max(probabilities, default=0.0)
    likeliest = sorted(range(len(probabilities)), key=lambda at: -probabilities[at])
    return sorted(at for rank, at in enumerate(likeliest) if rank < LEAST_SHOWN or probabilities[at] >= least)


class Assess(Step[Reranked, Assessment]):
    name = "assess"

    async def act(self, given: Reranked, entry: StepRecord) -> Assessment:
        assessment = await asyncio.to_thread(self._assessed, given)
        if given.failure:
            entry.degrade(given.failure)
        entry.summary = worded("{verdict}: {reason}", verdict=VERDICTS[assessment.verdict], reason=assessment.reason)
        entry.detail |= {
            "verdict": assessment.verdict,
            "best": round(assessment.best, 3),
            "holds_answer": round(assessment.answerability, 3),
            "by_model": assessment.by_model,
        }
        if assessment.by_model:
            entry.detail["blended"] = round(assessment.retrieval_score, 3)
        return assessment

    def _assessed(self, given: Reranked) -> Assessment:
        """A cross-encoder's verdict is its best score; else it is the estimate's for the whole list, blended."""
        if not given.candidates:
            return Assessment(verdict="REFINE", reason=worded("nothing was found"))
        thresholds, opinion = self.settings.corrective, given.opinion
        best, answerability = best_score(given.candidates), given.estimate.answerability
        score = best if given.reranker else opinion.probability
        judgement = opinion.reply
        if judgement:
            reason = worded(
                "the model says that {verdict}; the documents answer with a probability of {answerability:.2f}, "
                "with its word {score:.2f}",
                verdict=worded("a passage answers") if judgement.yes else worded("no passage answers"),
                answerability=answerability,
                score=score,
            )
        else:
            reason = worded(
                "{judge}, the best passage scores {best:.2f}",
                judge=given.reranker or worded("without a model"),
                best=best,
            )
            if not given.reranker:
                reason += worded(
                    "; the documents answer with a probability of {answerability:.2f}", answerability=answerability
                )
        named = judgement.verdict if judgement else ""
        rivals = competing(given.candidates) if named in ("CLARIFY", "CONTRADICTORY") else ()
        verdict: Verdict = "ANSWER" if score >= thresholds.good_score else "REFINE"
        return Assessment(
            verdict="CLARIFY" if named == "CLARIFY" and rivals else verdict,
            candidates=given.candidates,
            reason=reason,
            contradictory=named == "CONTRADICTORY" and figures_differ(given.question, rivals),
            by_model=judgement is not None,
            scored_by_model=bool(given.reranker),
            refused=judgement is not None and not opinion.said and score < thresholds.weak_score,
            answerability=answerability,
            likeliest=max(given.estimate.passages, default=0.0),
            shift=opinion.shift,
            proven=opinion.proven,
            retrieval_score=score,
        )


def competing(candidates: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    """The best candidate of each document, where several are about as likely to answer: what a model's CLARIFY or
    CONTRADICTORY has to be borne out by. None where one document is ahead of all others."""
    least = RIVAL_SHARE * best_score(candidates)
    best: dict[str, ScoredChunk] = {}
    for candidate in candidates:
        if (candidate.scores.rerank or 0.0) >= least:
            best.setdefault(candidate.document_id, candidate)
    return tuple(best.values()) if len(best) > 1 else ()


def figures_differ(question: str, rivals: Sequence[ScoredChunk]) -> bool:
    """Whether two of the passages give different figures where they speak about the question."""
    said = [numbers_in(best_window(rival.chunk.text, question, FIGURES_CHARS)) for rival in rivals]
    return any(set(left) - set(right) and set(right) - set(left) for left, right in combinations(said, 2))


def combine(before: Assessment, latest: Assessment, *, may_raise: bool = True, good: float) -> Assessment:
    """The verdict on all candidates, each once; earlier scores stay as they were given.

    A model's word holds for what it has seen: it goes along with the estimate until something likelier is found.
    may_raise: see `Retrieved`. good: the probability from which it is answered.
    """
    seen = {candidate.chunk_id for candidate in before.candidates}
    found = {candidate.chunk_id for candidate in latest.candidates}
    told, rest = (before, latest) if before.by_model and not latest.by_model else (latest, before)
    known = {candidate.chunk_id for candidate in told.candidates}
    others = (candidate for candidate in rest.candidates if candidate.chunk_id not in known)
    candidates = sorted((*told.candidates, *others), key=lambda candidate: -(candidate.scores.final or 0.0))
    score, shift = latest.retrieval_score, latest.shift
    elsewhere = any(map(is_of_the_web, latest.candidates))  # another source: no word about the documents holds for it
    if not (latest.by_model or elsewhere) and (found <= seen or latest.likeliest <= before.likeliest):
        score, shift = shifted(score, before.shift), before.shift
    if not (latest.by_model or may_raise):
        score = min(score, before.retrieval_score)
    gained = score > before.retrieval_score
    score = max(score, before.retrieval_score)
    return replace(
        latest,
        verdict="CLARIFY" if latest.verdict == "CLARIFY" else "ANSWER" if score >= good else "REFINE",
        candidates=tuple(candidates),
        reason=latest.reason if latest.by_model or gained else before.reason,
        by_model=latest.by_model or before.by_model,
        refused=(latest.refused if latest.by_model or elsewhere else before.refused) and score < good,
        scored_by_model=latest.scored_by_model and before.scored_by_model,
        answerability=max(before.answerability, latest.answerability) if may_raise else before.answerability,
        likeliest=max(before.likeliest, latest.likeliest),
        shift=shift,
        proven=latest.proven or before.proven,
        retrieval_score=score,
    )
