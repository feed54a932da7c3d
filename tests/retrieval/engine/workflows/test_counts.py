"""Where passages do not answer, the model that routes may have all documents counted."""

from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.engine.trace import Trace
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import (
    Columns,
    CountedRow,
    CountEvidence,
    CountFilter,
    CountResult,
)
from retrieval.engine.workflows.registry import get_workflow
from tests.retrieval.engine.steps.document_reader import MemoryReader
from tests.retrieval.engine.steps.fakes import HANDBOOK, ask, make_tools


class AllFive:
    """Counts five documents, of which the first is shown; `asked`: by what."""

    def __init__(self) -> None:
        self.asked: list[CountFilter] = []

    async def columns(self, scope: SearchScope) -> Columns:
        return Columns(columns=(), all=0, looked_at=5, documents=5)

    async def count(self, scope: SearchScope, counted: CountFilter, *, limit: int) -> CountResult:
        self.asked.append(counted)
        first = HANDBOOK[0]
        row = CountedRow(
            document_id=first.document_id,
            title=first.title,
            evidence=(CountEvidence(chunk=first),),
        )
        return CountResult(
            unit="document",
            total=5,
            documents=5,
            rows=(row,),
            looked_at=5,
            to_look_at=5,
            in_scope=5,
        )


@pytest.mark.parametrize("words", ["loan", ""])
async def test_after_a_refusal_a_model_may_have_all_documents_counted(online, words: str) -> None:
    online.reply(structured=False, match="Task: WRITE", text="NO_ANSWER")
    online.reply(match="wants whole documents read", json={"evidence": "", "task": "count"})
    online.reply(match="what a question wants counted", json={"words": words})
    counter = AllFive()
    tools = make_tools(settings.RAG, HANDBOOK, documents=MemoryReader(HANDBOOK), counter=counter)
    trace = Trace()
    asked = ask("How many documents mention a loan?")
    result = await get_workflow("corrective").answer(asked, engine=tools, trace=trace)
    if words:
        assert "**5** documents" in result.text and "The first 1 of 5." in result.text
        assert [filter_.words for filter_ in counter.asked] == ["loan"]
    else:  # it names nothing to count by, so the search goes on
        assert not counter.asked
        assert any("Task: JUDGE" in chat.prompt for chat in online.chats)
