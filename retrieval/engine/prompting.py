"""Prompts are files: `retrieval/engine/prompts/<name>.<language>.md`, or `<name>.md` for every language.

A file holds an optional HTML comment (what the prompt is for), the system text, a line `---`, and the user text.
The system text comes first and should not vary, so that the model server's prompt cache works. Variables are those of
`string.Template`: `$query`; braces stay literal and `$$` is a dollar sign. A file of the same name in the setting
`prompts_dir` replaces ours, and so does one that a setting of its own names (RAG_REWRITE_PROMPT, RAG_RERANK_PROMPT).
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from ragsite.core.messages import worded
from retrieval.engine.errors import ModelError
from retrieval.engine.ports import Prompt

BUILT_IN = Path(__file__).resolve().parent / "prompts"
MARKER = re.compile(r"^---[ \t]*$", re.MULTILINE)
LEADING_COMMENT = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)
NO_MEMORIES = "-"  # what `$memories` is where nothing is remembered (`retrieval.engine.steps.memory.quote_memories`)


class PromptError(ModelError):
    """A prompt's file is missing or malformed, or a variable was not given. No model has been called."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """`hash`: the first 12 hex digits of the file's SHA-256; it goes into the decision path with each call."""

    name: str
    hash: str
    system: string.Template
    user: string.Template

    def render(self, variables: dict[str, object]) -> Prompt:
        """Raises PromptError with the names of the variables that are missing."""
        names = {*self.system.get_identifiers(), *self.user.get_identifiers()}
        if missing := sorted(names - variables.keys()):
            named = ", ".join(f"${variable}" for variable in missing)
            raise PromptError(
                worded("prompt {name} needs {named}, which was not given", name=f"{self.name}.md", named=named)
            )
        return Prompt(
            name=self.name,
            hash=self.hash,
            system=self.system.substitute(variables),
            user=self.user.substitute(variables),
            personal=variables.get("memories", NO_MEMORIES) != NO_MEMORIES,
        )


class PromptLibrary:
    """Finds prompt files. A changed file is read anew at its next use."""

    def __init__(self, prompts_dir: str = "", files: Mapping[str, str] = MappingProxyType({})) -> None:
        """files: prompt → the file that serves in its place, in every language."""
        self._folders = [Path(prompts_dir).expanduser(), BUILT_IN] if prompts_dir else [BUILT_IN]
        self._files = {name: Path(path).expanduser() for name, path in files.items()}

    def render(self, name: str, *, language: str = "en", **variables: object) -> Prompt:
        """The prompt in this language, filled. Raises PromptError."""
        return self.template(name, language=language).render(variables)

    def template(self, name: str, *, language: str = "en") -> PromptTemplate:
        """The first file of: this language, its main language (zh-hant → zh), no language, English; of two the
        operator's own. Raises PromptError."""
        if path := self._files.get(name):
            return read_prompt(name, path, path.stat().st_mtime_ns if path.is_file() else 0)
        language = language.lower()
        for tag in (f".{language}", f".{language.split('-')[0]}", "", ".en"):
            for folder in self._folders:
                path = folder / f"{name}{tag}.md"
                if path.is_file():
                    return read_prompt(name, path, path.stat().st_mtime_ns)
        raise PromptError(worded("there is no prompt file {name}.md", name=name))


@lru_cache(maxsize=500)
def read_prompt(name: str, path: Path, changed_ns: int) -> PromptTemplate:
    """One file, as it is since then. Raises PromptError when it can't be read, has no `---` line, or a stray `$`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(
            worded("prompt file {name} can't be read: {error}", name=path.name, error=type(error).__name__)
        ) from error
    parts = MARKER.split(LEADING_COMMENT.sub("", text, count=1), maxsplit=1)
    if len(parts) != 2:
        raise PromptError(worded("prompt file {name} has no line --- between system and user text", name=path.name))
    system, user = (string.Template(part.strip()) for part in parts)
    if not (system.is_valid() and user.is_valid()):
        raise PromptError(
            worded("prompt file {name} has a $ that starts no variable; write $$ for a dollar sign", name=path.name)
        )
    return PromptTemplate(name=name, hash=hashlib.sha256(text.encode()).hexdigest()[:12], system=system, user=user)
