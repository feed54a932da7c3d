"""HyDE: an imagined passage, which the vector search looks for.

Source: Gao et al., ACL 2023, arXiv:2212.10496.
"""

from __future__ import annotations

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import HydeDetails
from retrieval.engine.steps.query.queries import LongText
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import quote_history
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Query, Question


class HypotheticalPassage(BaseModel):
    hypothetical_passage: LongText


@step("hyde", fallback=lambda deps, question: (), optional=True)
async def hyde(deps: Deps, question: Question) -> tuple[Query, ...]:
    """One query for the vector search alone; none where it is switched off."""
    if question.options.hyde is False:
        skip("switched_off")
        return ()
    reply = await deps.complete(
        "hyde",
        HypotheticalPassage,
        history=quote_history(question.history),
        question=question.standalone,
    )
    passage = " ".join(reply.hypothetical_passage.split())
    note("passage_imagined", HydeDetails(passage=passage))
    return (Query(passage, kind="hyde", vector_only=True),) if passage else ()
