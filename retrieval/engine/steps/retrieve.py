"""Retrieve: every query variant in one search; users' ratings then lift or lower what was found. Refine: search again,
on the web too. Passages: what a model is given of what was found (dedupe, neighbours, order, compress).

The web is searched only where a search engine is configured and the request (or the site's default) wants it. What goes
out are words of the user's own messages, never what documents, answers or memories hold: `is_the_users` guards that.
What comes back are titles and snippets: passages of their own kind, with link and date, which no filter and no rating
applies to.
Sources: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval"); seed 002 §3.3.3 (rewrite for the web: filler
removed; topic, aspect, qualifier) and §3.3.4; Yan et al., 2024, arXiv:2401.15884 (web search as the corrective action;
§4.4, strips); Liu et al., "Lost in the Middle", TACL 2024.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel

from ragsite.core.errors import AppError
from ragsite.core.messages import joined
from ragsite.core.rag_settings import PositionStrategy, RagSettings
from retrieval.engine.errors import WebSearchError, explained
from retrieval.engine.ports import BoostSource, SearchRequest, SearchResult, WebResult
from retrieval.engine.providers import web_search as engine
from retrieval.engine.providers.chat import limited
from retrieval.engine.search.boosting import BOOST_TIMEOUT_S, put_boosts
from retrieval.engine.search.preferring import search_preferring
from retrieval.engine.steps.step import Deps, step, try_call
from retrieval.engine.text.analysis import held_share, query_terms, term_weights, terms_of
from retrieval.engine.text.quoting import estimate_tokens, one_line, quote_source
from retrieval.engine.text.statements import headed_statements_of, is_row, list_sign
from retrieval.engine.trace import degrade, note, reason_text, skip
from retrieval.engine.values import Query, Question, ScoredChunk, SearchFilters, SearchScope, StoredChunk, Vocabulary

# ------------------------------------------------------------------------------------------------ web
MAX_RESULTS = 5  # taken from one search
QUERY_CHARS = 200
LEG = "web"


def may_search_web(deps: Deps, question: Question) -> bool:
    """Configured, and wanted: by the request, or by the site's default where the request does not say."""
    option = question.options.web_search
    return (deps.settings.web_search.by_default if option is None else option) and deps.web is not None


def is_the_users(text: str, question: Question) -> bool:
    """Whether every word of a text stands in what the user has written in this conversation."""
    opened = [question.open_clarification.question] if question.open_clarification else []
    own = terms_of("\n".join([question.text, *opened, *question.earlier_questions()]))
    return bool(text) and all(term in own for term in query_terms(text))


@step("web_search")
async def web_search(deps: Deps, question: Question, *, words: str = "", tried: Sequence[str] = ()) -> SearchResult:
    """Web results as candidates, best first, without scores: they are still to be judged.

    words: to look up in place of the self-contained question; where either holds words that are not the user's (a
    model may have taken them from an answer), the message as it was typed serves instead. tried: queries that are not
    asked again; where no other is left, nothing is searched for. `notes["query"]`: the one that was asked. Never raises
    for a search engine that fails: `degraded` then says why nothing could be looked up. Not configured or not wanted:
    no candidates, and a skipped entry in the path.
    """
    if deps.web is None or not may_search_web(deps, question):
        skip("web_not_wanted" if deps.web else "no_web_search")
        return SearchResult()
    text = words or question.standalone
    if not await asyncio.to_thread(is_the_users, text, question):
        text = question.text
    query = await _query(deps, text, tried)
    if not query:
        skip("no_other_words")
        return SearchResult()
    await deps.trace.announce("web_search", f"{deps.web.name}: {query}")
    limit_s = deps.deadline.limit(engine.TIMEOUT_S)
    try:
        async with asyncio.timeout(limit_s):
            results = await deps.web.search(query, limit=MAX_RESULTS)
    except (WebSearchError, TimeoutError) as error:
        reason = error.reason if isinstance(error, WebSearchError) else reason_text("late")
        degrade(reason)
        deps.progress.web = deps.progress.web or "web_away"
        note("web_away", reason=reason, query=query, engine=deps.web.name)
        return SearchResult(degraded=(reason,), notes={"query": query})
    deps.progress.web = "web_searched"
    found = [{"title": result.title, "url": result.url, "published": result.published} for result in results]
    note("web_found", query=query, engine=deps.web.name, results=found, count=len(found))
    ranked = enumerate(map(as_chunk, results), start=1)
    candidates = tuple(ScoredChunk(chunk=chunk, ranks={LEG: rank}) for rank, chunk in ranked)
    return SearchResult(candidates=candidates, notes={"query": query})


class WebQuery(BaseModel):
    query: Annotated[str, limited(minLength=3, maxLength=120)]


async def _query(deps: Deps, text: str, tried: Sequence[str]) -> str:
    """The model's words for a search engine, or the text itself; "" where both were tried."""
    call = deps.complete("web_query", WebQuery, tried="; ".join(map(one_line, tried)) or "-", question=one_line(text))
    reply = await try_call(deps, call, optional=True)
    words = one_line(reply.query).strip("\"'“”") if reply else ""
    known = {one.casefold() for one in tried}
    for query in (words, one_line(text)):
        query = query[:QUERY_CHARS].strip()
        if query and query.casefold() not in known:
            return query
    return ""


def as_chunk(result: WebResult) -> StoredChunk:
    """Its id belongs to the address, so the same page has it again the next time."""
    digest = hashlib.sha256(result.url.encode("utf-8", "surrogatepass")).hexdigest()
    return StoredChunk(
        chunk_id=f"web:{digest[:32]}",
        document_id=result.url,
        collection_id="",
        seq=0,
        title=result.title,
        text=result.snippet,
        kind="web",
        url=result.url,
        published=result.published,
    )


# ------------------------------------------------------------------------------------------------ retrieve
Stage = Literal["text", "wide", "web"]
WIDER = 3  # times as many candidates
PURPOSE: dict[Stage, str] = {"text": "by_words_alone", "wide": "wider", "web": "on_the_web"}


# ------------------------------------------------------------------------------------------------ search
def breadth(question: Question, settings: RagSettings, *, default: int = 0) -> int:
    """How many candidates are searched for: as many as are asked for, or judged. default: of what a request asks for,
    in place of the passages of an answer."""
    top_k = question.options.top_k or default or settings.corrective.context_passages
    return min(max(top_k, settings.rerank.max_candidates), settings.search.max_top_k)


async def search_documents(deps: Deps, request: SearchRequest, *, purpose: str = "") -> SearchResult:
    """Steps: retrieve, boost. purpose: what is searched for, a code of the path's texts or a name.

    `notes["boosts"]` says of each boosted candidate by how much and why. Where ratings could not be used, the reason
    stands in `degraded`. Raises IndexUnavailableError: "could not look" is never the same as "found nothing".
    """
    result = await retrieve(deps, request, purpose=purpose)
    return await boost(deps, deps.boosts, request, result) if deps.boosts and result.candidates else result


@step("retrieve")
async def retrieve(deps: Deps, request: SearchRequest, *, purpose: str = "") -> SearchResult:
    """One search, and a second one beside it where filters prefer. Raises as `HybridSearcher.search`."""
    result = await search_preferring(deps.searcher, request)
    preferred = request.filters.preferred.as_dict()
    note(
        _retrieved_code(result, purpose, preferring=bool(preferred)),
        purpose=purpose or "all_words",
        preferred=preferred,
        values=[value for values in preferred.values() for value in values],
        lifted=result.notes.get("preferred", 0),
        queries=[{"kind": query.kind, "text": query.text} for query in request.queries],
        filters=request.filters.as_dict(),
        relaxed=list(result.relaxed),
        timings_ms={name: round(ms, 1) for name, ms in result.timings_ms.items()},
        notes=dict(result.notes),
        candidates=[
            {"chunk_id": hit.chunk_id, "ranks": dict(hit.ranks), "scores": hit.scores.as_dict()}
            for hit in result.candidates
        ],
        found=len(result.candidates),
        searched=len(request.queries),
        documents=len(request.filters.documents) or request.scope.documents,
    )
    if result.degraded:
        degrade(joined("; ", result.degraded))
    await deps.trace.announce("search", " | ".join(query.text for query in request.queries))
    return result


def _retrieved_code(result: SearchResult, purpose: str, *, preferring: bool) -> str:
    again = "cached_s" in result.notes
    if preferring:
        code = "retrieved_again" if again else "retrieved"
        return f"{code}_preferring" if result.notes.get("preferred") else f"{code}_relaxed"
    if again:
        return "retrieved_again"
    return "retrieved_for" if purpose else "retrieved"


@step("boost")
async def boost(deps: Deps, ratings: BoostSource, request: SearchRequest, result: SearchResult) -> SearchResult:
    """The result in the order that ratings give it. The path tells what was lifted or lowered, by how much and why; of
    what was not shown before or after, it tells nothing."""
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(deps.deadline.limit(BOOST_TIMEOUT_S)):
            boosts = await ratings.boosts(request.queries[0].text, (*result.candidates, *result.tail_hits))
            candidates, lifted = await put_boosts(result, boosts, store=deps.store, scope=request.scope)
    except (AppError, TimeoutError) as error:
        reason = explained(error) or "ratings_late"
        degrade(reason)
        return replace(result, degraded=(*result.degraded, reason_text(reason)))
    shown = {candidate.chunk_id for candidate in candidates}
    payload = {
        chunk_id: {"multiplier": round(boost.multiplier, 3), "origin": boost.origin}
        for chunk_id, boost in boosts.by_chunk.items()
        if chunk_id in shown
    }
    note(
        "boosted" if payload else "not_boosted",
        boosts=payload,
        revision=boosts.revision,
        lifted=lifted,
        rated=len(payload),
        found=len(shown),
    )
    if boosts.degraded:
        degrade(boosts.degraded)
    spent = round((time.perf_counter() - begun) * 1000, 2)
    total = round(result.timings_ms.get("total", 0.0) + spent, 2)
    return replace(
        result,
        candidates=candidates,
        timings_ms={**result.timings_ms, "boost": spent, "total": total},
        degraded=(*result.degraded, boosts.degraded) if boosts.degraded else result.degraded,
        notes={**result.notes, "boosts": payload} if payload else result.notes,
    )


# ------------------------------------------------------------------------------------------------ refine


def stages(deps: Deps, question: Question) -> tuple[Stage, ...]:
    """What may be tried for this question, in this order."""
    return ("text", "wide", "web") if may_search_web(deps, question) else ("text", "wide")


async def search_again(
    deps: Deps,
    question: Question,
    queries: Sequence[Query],
    stage: Stage,
    *,
    filters: SearchFilters,
    number: int,
) -> SearchResult:
    """What the stage finds. Strict filters of the request are kept at every stage. number: of the round, from 1."""
    async with deps.trace.step("refine"):
        note("refined", stage=stage, purpose=PURPOSE[stage], number=number)
    if stage == "web":
        return await web_search(deps, question)
    settings = deps.settings
    top_k = settings.rerank.max_candidates * (WIDER if stage == "wide" else 1)
    request = SearchRequest(
        queries=tuple(query for query in queries if stage == "wide" or not query.vector_only),
        scope=question.scope,
        filters=replace(question.filters, preferred=Vocabulary()) if stage == "wide" else filters,
        top_k=min(top_k, settings.search.max_top_k),
        stages=("dense", "bm25") if stage == "wide" else ("bm25",),
    )
    return await search_documents(deps, request, purpose=PURPOSE[stage])


# ------------------------------------------------------------------------------------------------ passages
LEAST = 8  # passages that a model is given where so many were found: the right one is often not among the first five
MERGE_TOKENS = 640  # a passage made of neighbouring chunks that were found holds at most so many
MOST_TOKENS = 512  # of a passage with neighbours that were not found
CONTEXT_TOKENS = 2048  # of all passages, where LEAST of them fit: what the first token waits for is the prompt
MAX_PRINTS = 1024  # of passages that come up again and again
MAX_GAP = 16  # characters of white space that the chunker leaves out between two chunks
UNFINISHED_CHARS = 60  # a shorter last line without a full stop may be a label or a signature
THRESHOLD = 0.3  # statements below this share of the best one of all are left out; 0: none
_GAPS = re.compile(r"…(?:\s*…)+")
_ENDS = re.compile(r"[.!?。！？…；;][”’\"'」』）)\]】*_`]*$")
_ANNOUNCES = re.compile(r"[:：,，、（(–—-]$")
_GOES_ON = re.compile(r"[a-zà-öø-ÿ,;:.)\]，。；：、）】」』]")


# ------------------------------------------------------------------------------------------------ dedupe
@step("dedupe")
async def dedupe(
    deps: Deps, candidates: Sequence[ScoredChunk], *, known: Sequence[ScoredChunk] = ()
) -> tuple[ScoredChunk, ...]:
    """The candidates, best first, each said once, and neighbouring chunks of one document merged. known: passages of an
    earlier round; what they hold already is left out.

    Two are duplicates where their letters and digits are the same: two versions of a regulation may differ in one word,
    and that word is what matters. A merged passage keeps the id and the scores of its best chunk, which its citation
    names.
    """
    selection, dropped, merged = await asyncio.to_thread(merge_duplicates, candidates, known=known)
    note("deduped", before=len(candidates), after=len(selection), dropped=dropped, merged=merged)
    return selection


def merge_duplicates(
    candidates: Sequence[ScoredChunk], *, known: Sequence[ScoredChunk] = ()
) -> tuple[tuple[ScoredChunk, ...], dict[str, str], dict[str, list[str]]]:
    """What is kept; the id of each dropped chunk with that of the passage that says the same; ids of the chunks joined
    to a passage. Of two alike the first stays."""
    selection: list[ScoredChunk] = []
    dropped: dict[str, str] = {}
    for candidate in candidates:
        twin = next((other for other in (*known, *selection) if is_like(candidate.chunk, other.chunk)), None)
        if twin is None:
            selection.append(candidate)
        else:
            dropped[candidate.chunk_id] = twin.chunk_id
    passages, merged = _merge_neighbours(selection)
    return passages, dropped, merged


@lru_cache(maxsize=MAX_PRINTS)
def _print(text: str) -> str:
    """What two texts are compared by: letters and digits; the whole of a text that has none."""
    return "".join(filter(str.isalnum, text.casefold())) or " ".join(text.split())


def is_like(chunk: StoredChunk, other: StoredChunk) -> bool:
    """Whether `other` says all that the chunk does."""
    return chunk.chunk_id == other.chunk_id or other.covers(chunk) or _print(chunk.text) == _print(other.text)


def _merge_neighbours(ranked: Sequence[ScoredChunk]) -> tuple[tuple[ScoredChunk, ...], dict[str, list[str]]]:
    """Each passage in the place of its best chunk. From the best down, each takes up its neighbours that are candidates
    too, the better one first, while the passage stays within MERGE_TOKENS."""
    rank_at = {(candidate.document_id, candidate.chunk.seq): rank for rank, candidate in enumerate(ranked)}
    free = set(range(len(ranked)))
    passages = list[ScoredChunk]()
    merged = dict[str, list[str]]()
    for rank, candidate in enumerate(ranked):
        if rank not in free:
            continue
        free.discard(rank)
        passage = candidate.chunk
        grows = True
        while grows:
            grows = False
            (first, last) = passage.places
            sides = [rank_at.get((passage.document_id, seq)) for seq in (first - 1, last + 1)]
            for side in sorted(side for side in sides if side in free and side is not None):
                if joined := join(passage, ranked[side].chunk, MERGE_TOKENS):
                    passage = joined
                    grows = True
                    free.discard(side)
                    merged.setdefault(candidate.chunk_id, []).append(ranked[side].chunk_id)
                    break
        passages.append(replace(candidate, chunk=passage))
    return tuple(passages), merged


def join(best: StoredChunk, neighbour: StoredChunk, most_tokens: int) -> StoredChunk | None:
    """`best` with its neighbour's text before or after it, what both hold once; None where they do not fit together.

    char_start … char_end is the place of the whole text; the page is the one on which it begins.
    """
    left, right = (best, neighbour) if best.seq < neighbour.seq else (neighbour, best)
    added = seam(left, right)
    if added is None or estimate_tokens(text := left.text + added) > most_tokens:
        return None
    return replace(
        best,
        text=text,
        heading=_common_heading(left.heading, right.heading),
        page=left.page,
        char_start=left.char_start,
        char_end=right.char_end,
        seqs=(left.places[0], right.places[1]),
        table_rows=_joined_rows(left.table_rows, right.table_rows),
    )


def _joined_rows(left: tuple[int, int, int] | None, right: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    """Of neighbours; None where they hold all rows of a table together."""
    if left is None or right is None:
        return left or right
    is_one_table = left[2] == right[2] and right[0] in (left[1], left[1] + 1)
    if not is_one_table:
        return right
    first = left[0]
    last = right[1]
    count = right[2]
    return None if (first, last) == (1, count) else (first, last, count)


def seam(left: StoredChunk, right: StoredChunk) -> str | None:
    """What the right chunk adds to the left text; None where the two are not neighbours after all."""
    if not (left.char_start < left.char_end and right.char_start < right.char_end):
        return None
    overlap = left.char_end - right.char_start
    if overlap < 0:
        return "\n" * -overlap + right.text if -overlap <= MAX_GAP else None
    return right.text[overlap:] if left.text.endswith(right.text[:overlap]) else None


def _common_heading(left: str, right: str) -> str:
    """The headings above both."""
    shared = []
    for above_left, above_right in zip(left.split(" › "), right.split(" › "), strict=False):
        if above_left != above_right:
            break
        shared.append(above_left)
    return " › ".join(shared)


# ------------------------------------------------------------------------------------------------ neighbours
async def with_neighbours(
    deps: Deps, passages: Sequence[ScoredChunk], *, scope: SearchScope, tokens: int
) -> tuple[list[ScoredChunk], dict[str, list[str]]]:
    """The passages; one that is cut off (a table's row, a list, a sentence) with the chunk before or after it, while
    they fit into `tokens` together. Ids, scores and order stay. And what was joined to each, by ids."""
    beside = await _beside(deps, passages, scope)
    grown = list(passages)
    joined = dict[str, list[str]]()
    left = tokens - sum(estimate_tokens(passage.chunk.text) for passage in passages)
    for at, passage in enumerate(passages):
        chunk = passage.chunk
        first, last = chunk.places
        for seq in (first - 1, last + 1):
            other = beside.get((chunk.document_id, seq))
            longer = join(chunk, other, MOST_TOKENS) if other and _belong_together(chunk, other) else None
            cost = estimate_tokens(longer.text) - estimate_tokens(chunk.text) if longer else 0
            if other and longer and cost <= left:
                left = left - cost
                chunk = longer
                joined.setdefault(passage.chunk_id, []).append(other.chunk_id)
        grown[at] = replace(passage, chunk=chunk)
    return grown, joined


async def _beside(
    deps: Deps, passages: Sequence[ScoredChunk], scope: SearchScope
) -> Mapping[tuple[str, int], StoredChunk]:
    """The chunks before and after them that are not among them, by document and place: one read."""
    chunks = [passage.chunk for passage in passages if passage.chunk.kind == "document" and passage.chunk.char_end]
    here = {(chunk.document_id, seq) for chunk in chunks for seq in range(chunk.places[0], chunk.places[1] + 1)}
    ends = {(chunk.document_id, seq) for chunk in chunks for seq in (chunk.places[0] - 1, chunk.places[1] + 1)}
    places = sorted(place for place in ends - here if place[1] >= 0)
    found = await deps.documents.at(places, scope=scope) if deps.documents and places else ()
    return {(chunk.document_id, chunk.seq): chunk for chunk in found}


def _belong_together(chunk: StoredChunk, other: StoredChunk) -> bool:
    """Whether the later of the two continues what the earlier one ends with."""
    left, right = (chunk, other) if chunk.seq < other.seq else (other, chunk)
    if left.table_rows and right.table_rows and _joined_rows(left.table_rows, right.table_rows) != right.table_rows:
        return True
    added = seam(left, right)
    last = left.text.rstrip().rsplit("\n", 1)[-1].strip()
    first = (added or "").strip().split("\n", 1)[0].strip()
    if added is None or not first or first.startswith("#"):
        return False
    if is_row(last) or is_row(first):
        return is_row(last) and is_row(first)
    if _ANNOUNCES.search(last) or last.startswith("#") or _GOES_ON.match(first):
        return True
    if list_sign(first):
        return bool(list_sign(last))
    return len(last) >= UNFINISHED_CHARS and not _ENDS.search(last) and not added.startswith("\n\n")


# ------------------------------------------------------------------------------------------------ order
@step("order")
async def order(
    deps: Deps,
    candidates: Sequence[ScoredChunk],
    *,
    most: int,
    scope: SearchScope,
    room: int | None,
    strategy: PositionStrategy = "top_first",
) -> list[ScoredChunk]:
    """The best `most` candidates, best first, with neighbours where they are cut off; those that fit. room: tokens that
    the prompt has for them; None: no model reads them. strategy: of their places in the prompt (`positions`)."""
    chosen = list(candidates[:most])
    joined = dict[str, list[str]]()
    if room is not None:
        chosen, joined = await with_neighbours(deps, chosen, scope=scope, tokens=min(room // 2, CONTEXT_TOKENS))
        chosen = fit_half(chosen, room=room)
    ids = [passage.chunk_id for passage in chosen]
    code = "ordered_sandwich" if strategy == "sandwich" else "ordered"
    places = positions(len(chosen), strategy)
    note(code, given=len(chosen), found=len(candidates), chunk_ids=ids, joined=joined, positions=places)
    return chosen


def position_strategy(deps: Deps, question: Question) -> PositionStrategy:
    return question.options.position_strategy or deps.settings.answer.position_strategy


def positions(count: int, strategy: PositionStrategy) -> list[int]:
    """The ranks, from 1, in the order in which they stand in a prompt. sandwich: 1 3 5 6 4 2, since what stands in the
    middle of a long prompt is read least (Liu et al., 2024)."""
    ranks = range(1, count + 1)
    return [*ranks[::2], *reversed(ranks[1::2])] if strategy == "sandwich" else list(ranks)


def fit_half(ranked: Sequence[ScoredChunk], *, room: int) -> list[ScoredChunk]:
    """The best ones that fit into half of `room`, in tokens; LEAST, where the whole of it holds so many."""
    half = fit(ranked, tokens=min(room // 2, CONTEXT_TOKENS))
    return half if len(half) >= LEAST else fit(ranked[:LEAST], tokens=room)


def fit(ranked: Sequence[ScoredChunk], *, tokens: int) -> list[ScoredChunk]:
    """The best ones that fit into `tokens` as quoted passages; the first one always stays."""
    selection: list[ScoredChunk] = []
    left = tokens
    for candidate in ranked:
        left -= estimate_tokens(quote_source(len(selection) + 1, candidate.chunk)) + 2
        if selection and left < 0:
            break
        selection.append(candidate)
    return selection


# ------------------------------------------------------------------------------------------------ compress
@step("compress")
async def compress(
    deps: Deps, question: str, passages: Sequence[ScoredChunk], *, room: int | None
) -> list[ScoredChunk]:
    """The passages without the sentences that have nothing to do with the question; ids, places and scores stay, and
    sources keep their whole text. room: tokens that the prompt has; None: no model reads them."""
    if room is None or not passages:
        skip("no_model_reads" if passages else "nothing_found")
        return list(passages)
    selection = await asyncio.to_thread(compress_passages, question, passages, tokens=room)
    ids = {passage.chunk_id for passage in selection}
    note(
        "compressed",
        before=sum(estimate_tokens(passage.chunk.text) for passage in passages),
        after=sum(estimate_tokens(passage.chunk.text) for passage in selection),
        dropped=[passage.chunk_id for passage in passages if passage.chunk_id not in ids],
    )
    return selection


def compress_passages(question: str, passages: Sequence[ScoredChunk], *, tokens: int) -> list[ScoredChunk]:
    """Statements far below the best one of all are left out, with "…" in their place; headings and heads of tables
    stay, and what stands beside a statement that stays. Then as many passages as fit into `tokens`."""
    weights = term_weights(question, [terms_of(passage.chunk.text) for passage in passages])
    found = [headed_statements_of(passage.chunk.text) for passage in passages]
    shares = [[held_share(weights, terms_of(statement.text)) for statement in own] for own in found]
    least = THRESHOLD * max((share for own in shares for share in own), default=0.0)
    compressed = []
    for passage, statements, own in zip(passages, found, shares, strict=True):
        text = passage.chunk.text
        for at, statement in reversed(list(enumerate(statements))):
            if max(own[max(0, at - 1) : at + 2]) < least and statement.kind != "code":
                text = f"{text[: statement.start]}…{text[statement.end :]}"
        chunk = replace(passage.chunk, text=_GAPS.sub("…", text))
        compressed.append(replace(passage, chunk=chunk))
    return fit(compressed, tokens=tokens)
