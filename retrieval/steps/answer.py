"""Answer: generate, no answer, clarify, a direct reply, and answers that people have checked beforehand.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came. Without a model the best sentences of the passages are quoted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from ragsite.core.errors import UnavailableError
from ragsite.core.wording import joined, worded
from retrieval.path_texts import reason_text
from retrieval.ports import Prompt
from retrieval.steps.cite import cited_markers
from retrieval.steps.extract import quotations, versions_asked_for
from retrieval.steps.judge import estimated
from retrieval.steps.memory import quote_memories
from retrieval.steps.passages import compress, order
from retrieval.steps.step import Deps, step
from retrieval.steps.verify import NOTHING_SUPPORTED, check_by_words, claims_of, verify
from retrieval.steps.writing import (
    AnswerWriter,
    Author,
    Ended,
    author_of,
    marked_shape,
    write_by_model,
)
from retrieval.text.language import Language, in_script, phrase
from retrieval.text.quoting import one_line, quote_history, quote_source
from retrieval.trace import degrade, note
from retrieval.values import (
    Answer,
    Clarification,
    CuratedAnswer,
    GroundedSentence,
    Question,
    RememberedFact,
    ScoredChunk,
    Scores,
    Source,
)

QUOTATIONS = 5  # of an answer that no model wrote
NEAREST = 3  # passages that a refusal quotes
MAX_OPTIONS = 5  # of a question asked back
CHECKED_SCORE = 0.45  # from which the words of a checked answer's sentence are taken to stand in its passage
CHECKED_TIMEOUT_S = 1.0  # for a look into memory, and one into the database where something fits


async def select_passages(deps: Deps, question: Question, candidates: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """What a model is given of the candidates, best first: as many as fit half of its window, `context_passages` at
    most."""
    most = question.options.top_k or deps.settings.corrective.context_passages
    author = await author_of(deps, lambda: _prompt(deps, question, ()))
    return await order(deps, candidates, most=most, scope=question.scope, room=author.room)


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
    writer = AnswerWriter(deps, sources=sources, question=question.standalone, marked=True, released=released)
    answer = await generate(deps, question, shown, sources, author, writer, may_ask_back=may_ask_back)
    answer = await verify(deps, answer, question=question.standalone)
    if not answer.model or not answer.text or (answer.partial and answer.decision == "ANSWER"):
        return answer
    supported = any(source.cited for source in answer.sources) or any(one.supported for one in answer.grounding)
    if answer.decision == "ANSWER" and supported:
        return answer
    quoted = quotations(
        question.standalone, answer.sources, most=QUOTATIONS, language=deps.language, leans_on=question.leans_on
    )
    refused = replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)
    return await with_more(deps, refused, f"\n\n{phrase('closest', deps.language)}\n\n{quoted}")


async def with_more(deps: Deps, answer: Answer, text: str) -> Answer:
    """The answer with more said behind it, whose markers are of its sources."""
    text = in_script(text if answer.text else text.lstrip(), deps.language)
    if text:
        await deps.trace.emit_chunk(text)
    text = answer.text + text
    return replace(answer, text=text, sources=marked_cited(answer.sources, cited_markers(text)))


@step("generate")
async def generate(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    sources: tuple[Source, ...],
    author: Author,
    writer: AnswerWriter,
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
    quoted = await asyncio.to_thread(
        quotations, text, versions, most=QUOTATIONS, language=language, leans_on=question.leans_on
    )
    lead = "" if answers else phrase("model_failed" if failed else "no_model", language) + "\n\n"
    await deps.trace.choose_sources(sources)
    begun = Answer(
        decision="ANSWER" if answers else "NO_ANSWER",
        text="",
        sources=sources,
        reason=worded("without a model; the documents answer with a probability of {score:.2f}", score=score),
    )
    answer = await with_more(deps, begun, lead + quoted)
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
    return deps.prompt(
        "generate",
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


# ------------------------------------------------------------------------------------------------ no answer


async def no_answer(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk] | None, *, reason: str = ""
) -> Answer:
    """The reply: why there is no answer, whether the web was searched, too, and what is nearest. None: there was
    nothing to search in. reason: a code, or a sentence."""
    why = "no_documents" if candidates is None else "found_but_weak" if candidates else "nothing_found"
    sources = as_sources((candidates or ())[:NEAREST])
    paragraphs = [phrase(why, deps.language), _of_the_web(deps)]
    if sources:
        await deps.trace.choose_sources(sources)
        quoted = await asyncio.to_thread(
            quotations, question.standalone, sources, most=NEAREST, language=deps.language, leans_on=question.leans_on
        )
        paragraphs += [phrase("closest", deps.language), quoted]
    refusal = Answer(decision="NO_ANSWER", text="", sources=sources, reason=reason_text(reason or why))
    return await with_more(deps, refusal, "\n\n".join(filter(None, paragraphs)))


def _of_the_web(deps: Deps) -> str:
    searches = [step.detail for step in deps.trace.steps if step.name == "web_search" and step.status != "skipped"]
    if not searches:
        return ""
    answered = any("results" in detail for detail in searches)
    return phrase("web_searched" if answered else "web_away", deps.language)


# ------------------------------------------------------------------------------------------------ clarify


@step("clarify")
async def ask_back(deps: Deps, readings: Sequence[ScoredChunk]) -> Answer:
    """The question about these readings, a passage of each, in place of an answer."""
    asked = from_documents(readings, deps.language)
    note("asked_back", question=asked.question, options=list(asked.options))
    reason = worded("what was found is about several: {options}", options=joined(", ", asked.options))
    answer = Answer(decision="CLARIFY", text="", clarification=asked, reason=reason)
    return await with_more(deps, answer, asked.question)


def from_documents(readings: Sequence[ScoredChunk], language: Language) -> Clarification:
    """Options by the documents' titles; where these are equal, with year or section; failing that, by file names."""
    chunks = [reading.chunk for reading in readings[:MAX_OPTIONS]]
    titles, years = [chunk.title for chunk in chunks], [f"{chunk.title} ({chunk.policy_year})" for chunk in chunks]
    sections = [f"{chunk.title}: {chunk.heading}" for chunk in chunks]
    files = [chunk.file_name or chunk.document_id for chunk in chunks]
    options = next((named for named in (titles, years, sections) if len(set(named)) == len(named)), files)
    documents = tuple(chunk.document_id for chunk in chunks)
    return Clarification(question=phrase("clarify", language), options=tuple(options), documents=documents)


# ------------------------------------------------------------------------------------------------ direct
@step("generate")
async def respond_directly(deps: Deps, question: Question, memories: Sequence[RememberedFact]) -> Answer | None:
    """None where no model can write it: nothing but a model can reply from a conversation."""

    def prompt() -> Prompt:
        return deps.prompt(
            "direct_answer",
            memories=quote_memories(memories),
            history=quote_history(question.history),
            question=one_line(question.standalone),
        )

    writer = AnswerWriter(deps, sources=(), question=question.standalone)  # takes the model's markers out
    ended = await write_by_model(deps, await author_of(deps, prompt), prompt, writer)
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        note("no_direct_reply")
        return None
    return written_answer(writer.text, (), ended, reason=reason_text("no_documents_needed"))


# ------------------------------------------------------------------------------------------------ curated


async def curated_answer(deps: Deps, question: Question) -> Answer | None:
    """The answer, streamed as one piece; None where none fits. A reply to a question that was asked back is no question
    of its own, filters and attached files ask for other documents than those that were chosen, and who has an answer
    written anew wants another one."""
    asks_otherwise = question.again or question.filters or any(ref.attached for ref in question.scope.collections)
    if deps.curated is None or asks_otherwise or question.open_clarification:
        return None
    try:
        async with asyncio.timeout(CHECKED_TIMEOUT_S):
            found = await deps.curated.find(question.standalone, question.scope)
    except (UnavailableError, TimeoutError) as error:
        async with deps.trace.step("route"):
            degrade(getattr(error, "message", "") or "checked_answers_late")
        return None
    return await _give(deps, question, found) if found else None


async def _give(deps: Deps, question: Question, found: CuratedAnswer) -> Answer:
    checked, cited = found.checked, cited_markers(found.text)
    async with deps.trace.step("route"):
        note("checked_answer_fits", curated=checked.as_dict(), question=found.question)
    sources = tuple(
        Source(marker=marker, chunk=chunk, scores=Scores(), cited=marker in cited)
        for marker, chunk in enumerate(found.passages, start=1)
    )
    async with deps.trace.step("generate"):
        note("checked_beforehand", by=checked.by, on=checked.on, model="", cited=sorted(cited), partial=False)
        await deps.trace.choose_sources(sources)
        reason = worded("checked by {by} on {on}", by=checked.by, on=checked.on)
        answer = Answer(decision="ANSWER", text="", sources=sources, curated=checked, reason=reason)
        answer = await with_more(deps, answer, found.text)
    return replace(answer, grounding=await asyncio.to_thread(_evidence, answer, question.text))


def _evidence(answer: Answer, question: str) -> tuple[GroundedSentence, ...]:
    """Where its sentences rest. None of them is doubted for its words: people have judged it."""
    checked = check_by_words(answer, claims_of(answer.text), question, supported_score=CHECKED_SCORE)
    by_people = worded("checked by a person")
    return tuple(one if one.supported else replace(one, supported=None, reason=by_people) for one in checked)
