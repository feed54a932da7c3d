"""Strategy search: looks a question up by the strategy whose turn it is. Source: seed 001, `retrieve_documents`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch, is_the_users
from retrieval.steps.schemas import StrategyName
from retrieval.steps.step import Asked, Context
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.values import Query, Question, SearchFilters
from retrieval.workflows.dual_loop.strategy import wanting_web


@dataclass(frozen=True, slots=True)
class StrategySearch:
    tools: Toolbox

    async def search(
        self,
        strategy: StrategyName,
        question: Question,
        standalone: str,
        queries: Sequence[Query],
        filters: SearchFilters,
        *,
        run: Run,
        language: Language,
    ) -> SearchResult:
        """`standalone`: the self-contained question. Raises IndexUnavailableError when documents can't be searched."""
        context = Context(tools=self.tools, run=run, language=language)
        if strategy == "web_search":
            # A corrective rewrite has read the rejected answer: its words may be those of documents, which stay here.
            texts = (query.text for query in queries)
            words = next((text for text in texts if is_the_users(text, question)), standalone)
            return await WebSearch(context)(WebQuestion(Asked(wanting_web(question), words)))
        request = SearchRequest(
            queries=tuple(queries),
            scope=question.scope,
            filters=filters,
            top_k=breadth(question, self.tools.settings),
            strategy="hierarchical" if strategy == "hierarchical_search" else "chunks",
        )
        return await search_documents(context, request, purpose=f"{strategy}: ")
