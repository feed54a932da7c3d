"""Follow-up: the query of a chain's next link, made from what the last one found.

Interleaved retrieval: Trivedi et al., ACL 2023, arXiv:2212.10509.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.steps.deps import Deps
from retrieval.steps.query.rewrite import QUERY_CHARS
from retrieval.steps.schemas import FollowUpQuery
from retrieval.steps.step import step
from retrieval.text.quoting import one_line
from retrieval.trace import note


def with_statements(deps: Deps, text: str, statements: Sequence[str]) -> str:
    """Without a model: the query beside what was found."""
    return f"{text} {' '.join(statements)}"[:QUERY_CHARS]


@step("rewrite", fallback=with_statements, optional=True)
async def follow_up(deps: Deps, text: str, statements: Sequence[str]) -> str:
    """text: the link's own words. statements: the best ones of what was found before."""
    passages = "\n".join(f"[{number}] {one_line(found)}" for number, found in enumerate(statements, start=1))
    reply = await deps.complete("follow_up", FollowUpQuery, passages=passages, question=one_line(text))
    query = " ".join(reply.query.split())[:QUERY_CHARS] or text
    note("queries_made", queries=[query], found=list(statements))
    return query
