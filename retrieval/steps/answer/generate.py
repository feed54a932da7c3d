"""Generate: the answer from its passages, streamed as the model writes it; without a model, their best sentences.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from ragsite.core.wording import worded
from retrieval.path_texts import reason_text
from retrieval.ports import Prompt
from retrieval.steps.answer.extractive import quotations
from retrieval.steps.answer.mark import marked_shape
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.answer.versions import other_versions, versions_asked_for, with_named_version
from retrieval.steps.answer.writers import AnswerWriter, Author, Ended, MarkedWriter, author_of, write_by_model
from retrieval.steps.cite.align import align
from retrieval.steps.cite.markers import cited_markers
from retrieval.steps.cite.verify import NOTHING_SUPPORTED, verify
from retrieval.steps.deps import Deps
from retrieval.steps.judge.scores import estimated
from retrieval.steps.retrieve.compress import compress
from retrieval.steps.retrieve.neighbours import with_neighbours
from retrieval.steps.retrieve.order import choose, order
from retrieval.steps.step import step
from retrieval.text.answer_language import NAMES
from retrieval.text.quoting import one_line, quote_history, quote_source
from retrieval.trace import degrade, note
from retrieval.values import Answer, Question, ScoredChunk, Source

QUOTATIONS = 5  # of an answer that no model wrote


async def select_passages(deps: Deps, question: Question, candidates: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """What a model is given of the candidates, best first: as many as fit half of its window, `context_passages` at
    most. Steps: order, and one more where passages get neighbours."""
    most = question.options.top_k or deps.settings.corrective.context_passages
    chosen = with_named_version(choose(candidates, most=most), candidates, question.standalone, most=most)
    author = await author_of(deps, lambda: _prompt(deps, question, ()))
    if author.room is not None:
        chosen = await with_neighbours(deps, chosen, scope=question.scope, tokens=author.room)
    return await order(deps, chosen, found=len(candidates), room=author.room)


async def write_answer(deps: Deps, question: Question, candidates: Sequence[ScoredChunk]) -> Answer:
    """An answer from the best of the candidates. Never raises a ModelError. See `write_from`."""
    return await write_from(deps, question, await select_passages(deps, question, candidates))


async def write_from(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    may_ask_back: bool = False,
    released: Callable[[], object] | None = None,
) -> Answer:
    """The answer, checked. NO_ANSWER and CLARIFY are the writing model's mark, `text` is empty then, and nothing has
    reached the reader. `released`: called the moment the model has said that it answers. Never raises a ModelError.

    Steps: compress (where that is switched on), generate, verify. Sources hold their whole text, whatever of it the
    model was given. An answer of which no sentence comes near the passages is NO_ANSWER.
    """
    author, shown = await author_of(deps, lambda: _prompt(deps, question, ())), list(passages)
    if deps.settings.compress.enabled:
        shown = await compress(deps, question.standalone, passages, room=author.room)
    kept = {passage.chunk_id for passage in shown}
    sources = as_sources([passage for passage in passages if passage.chunk_id in kept])
    writer = MarkedWriter(deps, sources=sources, question=question.standalone, released=released)
    answer = await generate(deps, question, shown, sources, author, writer, may_ask_back=may_ask_back)
    answer = await verify(deps, answer, question=question.standalone)
    if not answer.model or not answer.text or (answer.partial and answer.decision == "ANSWER"):
        return answer
    supported = any(source.cited for source in answer.sources) or any(one.supported for one in answer.grounding)
    if answer.decision == "ANSWER" and supported:
        return answer
    return await _cited_or_refused(deps, question, answer)


async def _cited_or_refused(deps: Deps, question: Question, answer: Answer) -> Answer:
    """Of an answer that cites nothing: a heading, or a text that ends in a colon, has no sentence that could, and cites
    what it is near to; below others the closest passages are quoted."""
    near: Sequence[int] = ()
    if answer.decision == "ANSWER":
        near = await asyncio.to_thread(align, answer.text, answer.sources, question=question.standalone)
    if near:
        return await with_more(deps, answer, " " + "".join(f"[{marker}]" for marker in near))
    quoted = quotations(question.standalone, answer.sources, most=QUOTATIONS, language=deps.language)
    refused = replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)
    return await with_more(deps, refused, f"\n\n{phrase('closest', deps.language)}\n\n{quoted}")


async def with_more(deps: Deps, answer: Answer, text: str) -> Answer:
    """The answer with more said behind it, whose markers are of its sources."""
    writer = AnswerWriter(deps)
    writer.text = answer.text
    await writer.write(text)
    await writer.finish()
    cited = cited_markers(writer.text)
    return replace(answer, text=writer.text, sources=marked_cited(answer.sources, cited))


@step("generate")
async def generate(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    sources: tuple[Source, ...],
    author: Author,
    writer: MarkedWriter,
    *,
    may_ask_back: bool = False,
) -> Answer:
    """By the model; where it is away or fails before its first word, the best sentences of the passages. `sources`: the
    passages in their order, with their whole text."""
    ended = await write_by_model(
        deps,
        author,
        lambda: _prompt(deps, question, passages),
        writer,
        shape=marked_shape(may_ask_back=may_ask_back),
    )
    if writer.refuses:
        asks_back = writer.mark == "ask_back"
        reason = "passages_differ" if asks_back else "passages_do_not_answer"
        note("model_refuses", reason=reason, model=ended.model, cited=[], partial=False, mark=writer.mark)
        return Answer(
            decision="CLARIFY" if asks_back else "NO_ANSWER",
            text="",
            sources=sources,
            model=ended.model,
            reason=reason_text(reason),
        )
    if reason := ended.failure or writer.aligner.failure:
        degrade(reason)
    if not writer.text:
        return await _quoted(deps, question, passages, sources, failed=bool(ended.model))
    return written_answer(writer.text, sources, ended, mark="answer")


def written_answer(text: str, sources: Sequence[Source], ended: Ended, *, reason: str = "", mark: str = "") -> Answer:
    """What a model wrote, with the sources that it cites marked; the running step's entry says so."""
    cited, broken = cited_markers(text), bool(ended.failure)
    note("written", characters=len(text), of=len(sources), model=ended.model, cited=sorted(cited), partial=broken)
    if mark:
        note("written", mark=mark)
    return Answer(
        decision="ANSWER",
        text=text,
        sources=marked_cited(sources, cited),
        model=ended.model,
        reason=reason,
        partial=broken,
        cut=broken and ended.cut,
    )


async def _quoted(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], sources: tuple[Source, ...], *, failed: bool
) -> Answer:
    """Without a model the best quotations. Whether they answer is the estimate's to say, and nothing but a label hangs
    on it: NO_ANSWER quotes them too, under a sentence that says what can't be known. failed: a model is connected."""
    text, language = question.standalone, deps.language
    score = await estimated(deps, question, passages) if sources else 0.0
    answers = score >= deps.settings.corrective.good_score
    versions = versions_asked_for(sources, text)
    quoted = await asyncio.to_thread(quotations, text, versions, most=QUOTATIONS, language=language)
    lead = "" if answers else phrase("model_failed" if failed else "no_model", language) + "\n\n"
    await deps.trace.sink.sources_chosen(sources)
    begun = Answer(
        decision="ANSWER" if answers else "NO_ANSWER",
        text="",
        sources=sources,
        reason=worded("without a model; the documents answer with a probability of {score:.2f}", score=score),
    )
    answer = await with_more(deps, begun, lead + quoted + other_versions(sources, cited_markers(quoted), language))
    cited = [source.marker for source in answer.sources if source.cited]
    note(
        "passages_quoted",
        quoted=len(cited),
        cited=cited,
        of=len(sources),
        model="",
        partial=False,
        score=round(score, 3),
    )
    return answer


def _prompt(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Prompt:
    return deps.prompts.render(
        "generate",
        language=deps.language,
        language_name=NAMES[deps.language],
        history=quote_history(question.history),
        passages="\n\n".join(quote_source(number, passage.chunk) for number, passage in enumerate(passages, start=1)),
        question=one_line(question.standalone),
    )


def as_sources(passages: Sequence[ScoredChunk]) -> tuple[Source, ...]:
    """Numbered from 1 in the order of the prompt."""
    return tuple(
        Source(marker=number, chunk=passage.chunk, scores=passage.scores)
        for number, passage in enumerate(passages, start=1)
    )


def marked_cited(sources: Sequence[Source], cited: Set[int]) -> tuple[Source, ...]:
    return tuple(replace(source, cited=source.marker in cited) for source in sources)
