"""Answer: generate, no answer, clarify, a direct reply, and answers that people have checked beforehand.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came. Without a model the statements of the passages that hold most of the question's words are quoted, one
after the other, as in Carbonell and Goldstein, "MMR", SIGIR 1998: a word that a chosen statement has counts less from
then on. What only repeats its document's title answers nothing, so the title's words count little; those of the heading
right above count nearly as if the statement said them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import joined, worded
from retrieval.engine.ports import Prompt
from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.steps.grounding.verify import NOTHING_SUPPORTED, check_by_words, verify
from retrieval.engine.steps.judge import estimated
from retrieval.engine.steps.memory import quote_memories
from retrieval.engine.steps.query import fold
from retrieval.engine.steps.retrieve import compress, order
from retrieval.engine.steps.step import Deps, step
from retrieval.engine.steps.writing import (
    AnswerWriter,
    Author,
    Ended,
    WayOut,
    author_of,
    write_by_model,
)
from retrieval.engine.text.analysis import Language, analyze, in_script, in_script_of, phrase, term_weights
from retrieval.engine.text.markers import cited_markers
from retrieval.engine.text.named_values import years_in
from retrieval.engine.text.quoting import one_line, quote_history, quote_source
from retrieval.engine.text.statements import Statement, headed_statements_of
from retrieval.engine.trace import degrade, note, reason_text, skip
from retrieval.engine.values import (
    HEADING_JOIN,
    Answer,
    Clarification,
    CuratedAnswer,
    GroundedSentence,
    Question,
    RememberedFact,
    ScoredChunk,
    Scores,
    Source,
    StoredChunk,
)

# ------------------------------------------------------------------------------------------------ quotations
SENTENCE_CHARS = 400
_NOT_THE_TOPIC = re.compile(r"\d+|[\s\-–—_/,.:;()（）年版]+")
KEEP_SHARE = 0.1  # of the best statement's gain; what falls below is left out
TITLE_SHARE = 0.25  # what a term counts that the title holds already
HEADING_SHARE = 0.6  # what a term counts that the heading right above holds, and the statement does not
CARRIED = 0.8  # what a term of the question before counts: `benchmarks.follow_ups`
REPEATED = 0.4  # what a term counts that a chosen statement holds
PASSAGE_DISCOUNT = 0.92  # for each passage further down the ranking


@dataclass(frozen=True, slots=True)
class Quote:
    """A statement of a passage, on one line. Terms: its own, its heading's, its title's. place: (rank of the passage,
    position in it)."""

    marker: int
    text: str
    terms: frozenset[str]
    heading: frozenset[str]
    title: frozenset[str]
    place: tuple[int, int]


def quotations(question: str, sources: Sequence[Source], *, most: int, language: Language, leans_on: str = "") -> str:
    """A list of the best statements with their markers. leans_on: the question before, in a conversation."""
    quotes = best_statements(question, sources, most=most, leans_on=leans_on)
    return "\n".join(f"- {in_script_of(quote.text, language)} [{quote.marker}]" for quote in quotes)


def versions_in_question(sources: Sequence[Source], question: str) -> list[Source]:
    """Of the versions of a document (their titles are the same but for the year) the one of a year that the question
    names, else the newest."""
    named = set(years_in(question))
    best: dict[str, tuple[bool, int]] = {}
    for source in sources:
        topic, year = _version(source.chunk)
        best[topic] = max(best.get(topic, (False, 0)), (year in named, year))
    return [source for source in sources if _version(source.chunk)[1] == best[_version(source.chunk)[0]][1]]


def _version(chunk: StoredChunk) -> tuple[str, int]:
    """The title without its year, and the year; 0: it names none, or several."""
    named = years_in(chunk.title)
    return _NOT_THE_TOPIC.sub(" ", fold(chunk.title)).strip(), chunk.policy_year or (named[0] if len(named) == 1 else 0)


def best_statements(question: str, sources: Sequence[Source], *, most: int, leans_on: str = "") -> list[Quote]:
    """At most `most`, one at least, in the order of their passages."""
    ranked = sorted(sources, key=lambda source: -(source.scores.final or 0.0))
    left = [quote for rank, source in enumerate(ranked) for quote in _quotes(source, rank)]
    pool = [quote.terms for quote in left]
    carried = {term: CARRIED * weight for term, weight in term_weights(leans_on, pool).items()}
    weights = {**carried, **term_weights(question, pool)}
    announced = dict(weights)  # a heading only announces: the statement that says the word counts in full
    selection: list[Quote] = []
    least = 0.0
    while left and len(selection) < most:
        gains = {quote.place: _gain(quote, weights, announced) for quote in left}
        best = max(left, key=lambda quote: gains[quote.place])
        if gains[best.place] < least:
            break
        least = least or gains[best.place] * KEEP_SHARE
        selection.append(best)
        left = [quote for quote in left if quote.text != best.text]
        for terms, own in ((weights, best.terms), (announced, best.terms | best.heading)):
            for term in own & terms.keys():
                terms[term] *= REPEATED
    return sorted(selection, key=lambda quote: quote.place)


def _quotes(source: Source, rank: int) -> list[Quote]:
    chunk = source.chunk
    headings = chunk.heading.split(HEADING_JOIN)
    own = [statement for statement in headed_statements_of(chunk.text) if statement.text not in headings]
    statements = _answered(own) or [Statement("", chunk.text)]
    title = frozenset(analyze(f"{chunk.title} {chunk.heading}"))
    return [
        Quote(
            marker=source.marker,
            text=_shortened(one_line(statement.text)),
            terms=frozenset(analyze(statement.text)),
            heading=frozenset(analyze(statement.heading)),
            title=title,
            place=(rank, position),
        )
        for position, statement in enumerate(statements)
    ]


def _answered(statements: Sequence[Statement]) -> list[Statement]:
    """A question in a passage (of an FAQ) says nothing by itself: it is quoted with the statement behind it."""
    joined: list[Statement] = []
    for statement in statements:
        if joined and joined[-1].text.endswith(("?", "？")):
            joined[-1] = joined[-1]._replace(text=f"{joined[-1].text} {statement.text}")
        else:
            joined.append(statement)
    return joined


def _gain(quote: Quote, weights: Mapping[str, float], announced: Mapping[str, float]) -> float:
    own = _weight(quote.terms - quote.title, weights) + TITLE_SHARE * _weight(quote.terms, weights)
    headed = HEADING_SHARE * _weight(quote.heading - quote.terms - quote.title, announced)
    return (own + headed) * PASSAGE_DISCOUNT ** quote.place[0]


def _weight(terms: Set[str], weights: Mapping[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in terms)


def _shortened(text: str) -> str:
    return text if len(text) <= SENTENCE_CHARS else text[:SENTENCE_CHARS].rstrip() + "…"


# ------------------------------------------------------------------------------------------------ answer
QUOTATIONS = 5  # of an answer that no model wrote
NEAREST = 3  # passages that a refusal quotes
MAX_OPTIONS = 5  # of a question asked back
PROMPTS: Mapping[WayOut, str] = {"ask_back": "generate", "refuse": "generate_or_refuse", "none": "generate_in_any_case"}
CHECKED_SCORE = 0.45  # from which the words of a checked answer's sentence are taken to stand in its passage
CHECKED_TIMEOUT_S = 1.0  # for a look into memory, and one into the database where something fits


async def select_passages(deps: Deps, question: Question, candidates: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """What a model is given of the candidates, best first: as many as fit half of its window, `context_passages` at
    most."""
    most = question.options.top_k or deps.settings.corrective.context_passages
    author = await author_of(deps, lambda: _prompt(deps, question, (), "ask_back"))
    return await order(deps, candidates, most=most, scope=question.scope, room=author.room)


async def write_answer(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk], *, way_out: WayOut = "refuse"
) -> Answer:
    """An answer from the best of the candidates. One of which no passage supports a sentence quotes what is nearest.
    Never raises a ModelError. See `write_from`."""
    answer = await write_from(deps, question, await select_passages(deps, question, candidates), way_out=way_out)
    return await with_nearest(deps, question, answer) if is_unsupported(answer) else answer


def is_unsupported(answer: Answer) -> bool:
    """A model has written, and nothing of it stands in the passages: also a refusal in words of its own."""
    return answer.decision == "NO_ANSWER" and bool(answer.model and answer.text)


async def write_from(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    way_out: WayOut = "refuse",
    released: Callable[[], object] | None = None,
) -> Answer:
    """The answer, checked. NO_ANSWER and CLARIFY are the writing model's word, `text` is empty then, and nothing has
    reached the reader; an answer of which no sentence comes near the passages is NO_ANSWER, too, and has been read.
    `released`: called the moment the model begins to answer. Never raises a ModelError.

    Steps: compress (where that is switched on), generate, verify. Sources hold their whole text, whatever of it the
    model was given.
    """
    author, shown = await author_of(deps, lambda: _prompt(deps, question, (), way_out)), list(passages)
    if deps.settings.compress.enabled:
        shown = await compress(deps, question.standalone, passages, room=author.room)
    selection = {passage.chunk_id for passage in shown}
    sources = as_sources([passage for passage in passages if passage.chunk_id in selection])
    writer = AnswerWriter(deps, sources=sources, question=question.standalone, may_refuse=True, released=released)
    answer = await generate(deps, question, shown, sources, author, writer, way_out=way_out)
    answer = await verify(deps, answer, question=question.standalone)
    if not answer.model or not answer.text or (answer.partial and answer.decision == "ANSWER"):
        return answer
    supported = any(source.cited for source in answer.sources) or any(one.supported for one in answer.grounding)
    if answer.decision == "ANSWER" and supported:
        return answer
    return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)


async def with_nearest(deps: Deps, question: Question, answer: Answer) -> Answer:
    """The answer, and behind it quotations of what is nearest among its sources."""
    quoted = quotations(
        question.standalone, answer.sources, most=QUOTATIONS, language=deps.language, leans_on=question.leans_on
    )
    return await with_more(deps, answer, f"\n\n{phrase('closest', deps.language)}\n\n{quoted}")


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
    way_out: WayOut = "refuse",
) -> Answer:
    """By the model; where it is away or fails before its first word, the best sentences of the passages. `sources`: the
    passages in their order, with their whole text."""
    ended = await write_by_model(deps, author, lambda: _prompt(deps, question, passages, way_out), writer)
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
    if reason := ended.failure or writer.aligner.failure:
        degrade(reason)
    if not writer.text:
        return await _quoted(deps, question, passages, sources, failed=bool(ended.model))
    return written_answer(writer.text, sources, ended)


def written_answer(text: str, sources: Sequence[Source], ended: Ended, *, reason: str = "") -> Answer:
    """What a model wrote, with the sources that it cites marked; the running step's entry says so."""
    cited, broken = cited_markers(text), bool(ended.failure)
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


async def _quoted(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], sources: tuple[Source, ...], *, failed: bool
) -> Answer:
    """Without a model the best quotations. Whether they answer is the estimate's to say, and nothing but a label hangs
    on it: NO_ANSWER quotes them too, under a sentence that says what can't be known. failed: a model is connected."""
    text, language = question.standalone, deps.language
    score = await estimated(deps, question, passages) if sources else 0.0
    answers = score >= deps.settings.corrective.good_score
    versions = versions_in_question(sources, text)
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


def _prompt(deps: Deps, question: Question, passages: Sequence[ScoredChunk], way_out: WayOut) -> Prompt:
    return deps.prompt(
        PROMPTS[way_out],
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
    clarification = from_documents(readings, deps.language)
    note("asked_back", question=clarification.question, options=list(clarification.options))
    reason = worded("what was found is about several things: {options}", options=joined(", ", clarification.options))
    answer = Answer(decision="CLARIFY", text="", clarification=clarification, reason=reason)
    return await with_more(deps, answer, clarification.question)


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
