"""The workflows by name: `get_workflow("corrective", engine=get_engine())`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ragsite.errors import InvalidInputError
from ragsite.rag_settings import RagSettings
from retrieval.ports import BoostSource, ChunkStore, Models, Reranker, Searcher, WebSearcher, Workflow
from retrieval.prompting import PromptLibrary
from retrieval.steps.toolbox import Toolbox
from retrieval.workflows.corrective import CorrectiveWorkflow

DEFAULT_WORKFLOW = "corrective"
WORKFLOW_NAMES = ("corrective", "self_corrective", "dual_loop", "planned", "react")
_WORKFLOWS: Mapping[str, Callable[[Toolbox], Workflow]] = {"corrective": CorrectiveWorkflow}


class EngineParts(Protocol):
    """What a workflow needs of `retrieval.engine.Engine`."""

    @property
    def settings(self) -> RagSettings: ...
    @property
    def models(self) -> Models: ...
    @property
    def store(self) -> ChunkStore: ...
    @property
    def searcher(self) -> Searcher: ...
    @property
    def boosts(self) -> BoostSource | None: ...
    @property
    def reranker(self) -> Reranker | None: ...
    @property
    def web(self) -> WebSearcher | None: ...


def available_workflows() -> tuple[str, ...]:
    """The names that can be chosen now, in the contract's order."""
    return tuple(name for name in WORKFLOW_NAMES if name in _WORKFLOWS)


def get_workflow(name: str, *, engine: EngineParts) -> Workflow:
    """Raises InvalidInputError, which says which workflows there are."""
    if name not in _WORKFLOWS:
        known = ", ".join(available_workflows())
        raise InvalidInputError(
            f"There is no workflow '{name[:40]}' here; choose one of: {known}.",
            fields={"workflow": [f"one of {known}"]},
        )
    return _WORKFLOWS[name](make_toolbox(engine))


def make_toolbox(engine: EngineParts) -> Toolbox:
    return Toolbox(
        settings=engine.settings,
        models=engine.models,
        prompts=_prompts(engine.settings.prompts_dir),
        searcher=engine.searcher,
        store=engine.store,
        boosts=engine.boosts,
        reranker=engine.reranker,
        web=engine.web,
    )


_libraries: dict[str, PromptLibrary] = {}


def _prompts(folder: str) -> PromptLibrary:
    """One library per folder: it remembers the files that it has read."""
    return _libraries.setdefault(folder, PromptLibrary(folder))
