"""Answer: generate, no answer, clarify, and answers that people have checked beforehand.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came. Where no model writes, the passages that fit best are shown as they stand, under a line that says so
(`retrieval.engine.steps.passages`): nobody has judged whether they answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import joined, worded
from retrieval.engine.ports import Prompt
from retrieval.engine.steps.grounding.claims import brackets_of, claims_of
from retrieval.engine.steps.grounding.verify import NOTHING_SUPPORTED, check_by_words, verify
from retrieval.engine.steps.passages import NEAREST, NEAREST_CHARS, SHOWN_CHARS, Shown, best_sources, show_passages
from retrieval.engine.steps.retrieve import compress, fit, order, position_strategy, positions
from retrieval.engine.steps.step import Deps, step
from retrieval.engine.steps.writing import (
    AnswerWriter,
    Author,
    Ended,
    WayOut,
    author_of,
    write_by_model,
)
from retrieval.engine.text.markers import cited_markers
from retrieval.engine.text.phrases import Language, in_script, phrase
from retrieval.engine.text.quoting import one_line, quote_history, quote_source
from retrieval.engine.trace import HeldBackTrace, degrade, note, reason_text, skip
from retrieval.engine.values import (
    Answer,
    Clarification,
    CuratedAnswer,
    GroundedSentence,
    Question,
    ScoredChunk,
    Scores,
    Source,
)

# ------------------------------------------------------------------------------------------------ answer
MAX_OPTIONS = 5  # of a question asked back
PROMPTS: Mapping[WayOut, str] = {"ask_back": "generate", "refuse": "generate_or_refuse", "none": "generate_in_any_case"}
CHECKED_SCORE = 0.45  # from which the words of a checked answer's sentence are taken to stand in its passage
CHECKED_TIMEOUT_S = 1.0  # for a look into memory, and one into the database where something fits


async def select_passages(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk], *, most: int | None = None
) -> list[ScoredChunk]:
    """What a model is given of the candidates, best first: what fits half of its window, at most `most` (by default
    `context_passages`), or as many as the request says."""
    most = question.options.top_k or most or deps.settings.corrective.context_passages
    author = await author_of(deps, lambda: _prompt(deps, question, (), "ask_back"))
    strategy = position_strategy(deps, question)
    return await order(deps, candidates, most=most, scope=question.scope, room=author.room, strategy=strategy)


async def write_answer(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk], *, way_out: WayOut = "refuse"
) -> Answer:
    """An answer from the best of the candidates. One of which no passage supports a sentence quotes what is nearest.
    Never raises a ModelError. See `write_from`."""
    answer = await write_from(deps, question, await select_passages(deps, question, candidates), way_out=way_out)
    return await with_nearest(deps, question, answer) if is_unsupported(answer) else answer


async def write_from_more(
    deps: Deps, question: Question, read: Answer, candidates: Sequence[ScoredChunk]
) -> Answer | None:
    """Another answer beside one that has been read, which reaches nobody yet: from the same sources, in their places,
    so that the markers of both hold, and from those of the candidates that are new. None: nothing is new, or the model
    writes nothing from it.
    """
    known = {source.chunk.chunk_id for source in read.sources}
    fresh = [candidate for candidate in candidates if candidate.chunk_id not in known]
    before = [ScoredChunk(chunk=source.chunk, scores=source.scores) for source in read.sources]
    author = await author_of(deps, lambda: _prompt(deps, question, (), "refuse"))
    if not fresh or author.room is None:
        return None
    passages = fit([*before, *await select_passages(deps, question, fresh)], tokens=author.room)
    if len(passages) <= len(before):
        return None
    held_back = replace(deps, trace=HeldBackTrace(deps.trace))
    answer = await write_from(held_back, question, passages)
    is_written = answer.decision == "ANSWER" and bool(answer.model and answer.text)
    return answer if is_written and not answer.partial else None


async def with_another(deps: Deps, read: Answer, another: Answer) -> Answer:
    """The answer that has been read, and behind it another one of `write_from_more`, which is sent now."""
    await deps.trace.choose_sources(another.sources)
    lead = f"\n\n{phrase('looked_again', deps.language)}\n\n"
    both = await with_more(deps, replace(read, sources=another.sources), lead + another.text)
    moved = behind(both.text[: len(both.text) - len(another.text)], another).grounding
    return replace(both, grounding=(*read.grounding, *moved), reason=another.reason)


def is_unsupported(answer: Answer) -> bool:
    """A model has written, and nothing of it stands in the passages: also a refusal in words of its own."""
    return answer.decision == "NO_ANSWER" and bool(answer.model and answer.text)


async def write_from(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    way_out: WayOut = "refuse",
) -> Answer:
    """The answer, checked. NO_ANSWER and CLARIFY are the writing model's word, `text` is empty then, and nothing has
    reached the reader; an answer of which no sentence comes near the passages is NO_ANSWER, too, and has been read.
    Never raises a ModelError.

    Steps: compress (where that is switched on), generate, verify. Sources hold their whole text, whatever of it the
    model was given.
    """
    author = await author_of(deps, lambda: _prompt(deps, question, (), way_out))
    shown = list(passages)
    if deps.settings.compress.enabled:
        shown = await compress(deps, question.standalone, passages, room=author.room)
    selection = {passage.chunk_id for passage in shown}
    sources = as_sources([passage for passage in passages if passage.chunk_id in selection])
    writer = AnswerWriter(deps, sources=sources, question=question.standalone, may_refuse=True)
    answer = await generate(deps, question, shown, sources, author, writer, way_out=way_out)
    answer = await verify(deps, answer, question=question.standalone)
    if not answer.model or not answer.text or (answer.partial and answer.decision == "ANSWER"):
        return answer
    supported = any(source.cited for source in answer.sources) or any(one.supported for one in answer.grounding)
    if answer.decision == "ANSWER" and supported:
        return answer
    return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)


async def with_nearest(deps: Deps, question: Question, answer: Answer) -> Answer:
    """The answer, and behind it what is nearest among its sources."""
    nearest = answer.sources[:NEAREST]
    shown = await show_passages(deps, question, nearest, among=answer.sources, chars=NEAREST_CHARS)
    return await with_passages(deps, answer, f"\n\n{phrase('closest', deps.language)}\n\n", shown)


@step("generate")
async def show_judged(deps: Deps, question: Question, answer: Answer, named: Sequence[ScoredChunk]) -> Answer:
    """The passages that the judge says to answer, as they stand, where the writing model would not put them into words.
    answer: what it wrote, or its refusal."""
    chosen = {passage.chunk_id for passage in named}
    judged = [source for source in answer.sources if source.chunk.chunk_id in chosen][:NEAREST]
    shown = await show_passages(
        deps, question, judged or best_sources(answer.sources), among=answer.sources, chars=SHOWN_CHARS
    )
    if not answer.text:
        await deps.trace.choose_sources(answer.sources)
    begun = replace(answer, decision="ANSWER", reason=reason_text("judged_not_written"))
    degrade("judged_not_written")
    return await with_passages(deps, begun, f"\n\n{phrase('judged', deps.language)}\n\n", shown)


def behind(text: str, answer: Answer) -> Answer:
    """The answer of somebody who has read this text before it."""
    moved = tuple(replace(one, start=one.start + len(text), end=one.end + len(text)) for one in answer.grounding)
    return replace(answer, text=text + answer.text, grounding=moved)


async def with_more(deps: Deps, answer: Answer, text: str) -> Answer:
    """The answer with more said behind it, whose markers are of its sources."""
    text = in_script(text if answer.text else text.lstrip(), deps.language)
    if text:
        await deps.trace.emit_chunk(text)
    text = answer.text + text
    return replace(answer, text=text, sources=marked_cited(answer.sources, brackets_of(answer.sources).cited(text)))


async def with_passages(deps: Deps, answer: Answer, lead: str, shown: Shown) -> Answer:
    """The answer with passages behind it, which it cites."""
    lead = lead if answer.text else lead.lstrip()
    before = len(answer.text) + len(lead)
    moved = (replace(one, start=one.start + before, end=one.end + before) for one in shown.grounding)
    told = await with_more(deps, answer, lead + shown.text)
    return replace(
        told,
        sources=marked_cited(answer.sources, brackets_of(answer.sources).cited(answer.text) | shown.markers),
        grounding=(*answer.grounding, *moved),
    )


@step("generate")
async def generate(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    sources: tuple[Source, ...],
    author: Author,
    writer: AnswerWriter,
    *,
    way_out: WayOut = "refuse",
) -> Answer:
    """By the model; where it is away or fails before its first word, the best passages as they stand. `sources`: the
    passages in their order, with their whole text."""
    ended = await write_by_model(deps, author, lambda: _prompt(deps, question, passages, way_out), writer)
    if ended.model and not ended.failure:
        deps.progress.judged_by = ended.model
    if writer.verdict:
        asks_back = writer.verdict == "unclear" and way_out == "ask_back"
        reason = "passages_differ" if asks_back else "passages_do_not_answer"
        note("model_refuses", reason=reason, model=ended.model, cited=[], partial=False, verdict=writer.verdict)
        return Answer(
            decision="CLARIFY" if asks_back else "NO_ANSWER",
            text="",
            sources=sources,
            model=ended.model,
            reason=reason_text(reason),
        )
    reason = ended.failure or writer.aligner.failure
    if reason:
        degrade(reason)
    if not writer.text:
        return await _passages(deps, question, sources, reason=reason if ended.model else "")
    return written_answer(writer.text, sources, ended)


def written_answer(text: str, sources: Sequence[Source], ended: Ended, *, reason: str = "") -> Answer:
    """What a model wrote, with the sources that it cites marked; the running step's entry says so."""
    cited = brackets_of(sources).cited(text)
    broken = bool(ended.failure)
    note("written", characters=len(text), of=len(sources), model=ended.model, cited=sorted(cited), partial=broken)
    return Answer(
        decision="ANSWER",
        text=text,
        sources=marked_cited(sources, cited),
        model=ended.model,
        reason=reason,
        partial=broken,
        cut=broken and ended.cut,
    )


async def _passages(deps: Deps, question: Question, sources: tuple[Source, ...], *, reason: str) -> Answer:
    """The best passages, under a line that says that no model wrote. reason: why a model that is connected gave no
    answer; empty: none is connected."""
    why = phrase("model_failed", deps.language, reason=deps.say(reason, deps.language)) if reason else ""
    shown = await show_passages(deps, question, best_sources(sources), among=sources, chars=SHOWN_CHARS)
    await deps.trace.choose_sources(sources)
    begun = Answer(decision="ANSWER", text="", sources=sources, reason=reason_text("passages_shown_alone"))
    line = (why or phrase("no_model", deps.language)) + "\n\n"
    answer = await with_passages(deps, begun, line, shown)
    cited = sorted(shown.markers)
    note("passages_shown", shown=len(cited), cited=cited, of=len(sources), model="", partial=False)
    return answer


def _prompt(deps: Deps, question: Question, passages: Sequence[ScoredChunk], way_out: WayOut) -> Prompt:
    places = positions(len(passages), position_strategy(deps, question))
    return deps.prompt(
        PROMPTS[way_out],
        history=quote_history(question.history),
        passages="\n\n".join(quote_source(number, passages[number - 1].chunk) for number in places),
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


async def refuse(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk] | None, *, reason: str = ""
) -> Answer:
    """Says why there is no answer, whether the web was searched, too, and quotes what is nearest. None: there was
    nothing to search in. reason: a code, or a sentence."""
    if candidates is None:
        async with deps.trace.step("retrieve"):
            skip("no_documents")
    why = "no_documents" if candidates is None else "found_but_weak" if candidates else "nothing_found"
    sources = as_sources((candidates or ())[:NEAREST])
    refusal = Answer(
        decision="NO_ANSWER", text="", sources=sources, model=deps.progress.judged_by, reason=reason_text(reason or why)
    )
    web = phrase(deps.progress.web, deps.language) if deps.progress.web else ""
    lead = "\n\n".join(filter(None, (_why(deps, question, why), web)))
    if not sources:
        return await with_more(deps, refusal, lead)
    await deps.trace.choose_sources(sources)
    shown = await show_passages(deps, question, sources, among=sources, chars=NEAREST_CHARS)
    return await with_passages(deps, refusal, f"{lead}\n\n{phrase('closest', deps.language)}\n\n", shown)


def _why(deps: Deps, question: Question, why: str) -> str:
    """Why there is no answer; of documents that are still being read, that they could not be searched yet."""
    left = question.scope.being_read
    if not left:
        return phrase(why, deps.language)
    being_read = phrase("being_read", deps.language, count=left)
    return being_read if why == "no_documents" else f"{phrase(why, deps.language)}\n\n{being_read}"


# ------------------------------------------------------------------------------------------------ clarify


@step("clarify")
async def ask_back(deps: Deps, readings: Sequence[ScoredChunk], *, asks: str = "") -> Answer:
    """The question about these readings, a passage of each, in place of an answer. asks: the judge's own words for it;
    where it gave none, ours."""
    clarification = from_documents(readings, deps.language, asks=asks)
    note("asked_back", question=clarification.question, options=list(clarification.options))
    reason = worded("what was found is about several things: {options}", options=joined(", ", clarification.options))
    answer = Answer(decision="CLARIFY", text="", clarification=clarification, reason=reason)
    return await with_more(deps, answer, clarification.question)


def from_documents(readings: Sequence[ScoredChunk], language: Language, *, asks: str = "") -> Clarification:
    """Options by the documents' titles; where these are equal, with year or section; failing that, by file names."""
    chunks = [reading.chunk for reading in readings[:MAX_OPTIONS]]
    titles = [chunk.title for chunk in chunks]
    years = [f"{chunk.title} ({chunk.policy_year})" for chunk in chunks]
    sections = [f"{chunk.title}: {chunk.heading}" for chunk in chunks]
    files = [chunk.file_name or chunk.document_id for chunk in chunks]
    options = next((named for named in (titles, years, sections) if len(set(named)) == len(named)), files)
    documents = tuple(chunk.document_id for chunk in chunks)
    question = in_script(asks, language) or phrase("clarify", language)
    return Clarification(question=question, options=tuple(options), documents=documents)


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
    checked = found.checked
    cited = cited_markers(found.text)
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
