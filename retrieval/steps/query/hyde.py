"""HyDE, hypothetical document embeddings: a passage that would answer the question is searched for by its vector.

Source: Gao et al., ACL 2023, arXiv:2212.10496; seed 003 §2.3.
"""

from __future__ import annotations

from retrieval.steps.deps import Deps
from retrieval.steps.schemas import HypotheticalPassage
from retrieval.steps.step import step
from retrieval.text.quoting import quote_history
from retrieval.trace import note, skip
from retrieval.values import Query, Question


def no_passage(deps: Deps, question: Question) -> tuple[Query, ...]:
    """Without a model."""
    return ()


@step("hyde", fallback=no_passage, optional=True)
async def hyde(deps: Deps, question: Question) -> tuple[Query, ...]:
    """One query for the vector search alone; none where it is switched off."""
    asked = question.options.hyde
    if not (deps.settings.hyde.enabled if asked is None else asked):
        skip("switched_off")
        return ()
    reply = await deps.complete(
        "hyde", HypotheticalPassage, history=quote_history(question.history), question=question.standalone
    )
    passage = " ".join(reply.hypothetical_passage.split())
    note("passage_imagined", passage=passage)
    return (Query(passage, kind="hyde", vector_only=True),) if passage else ()
