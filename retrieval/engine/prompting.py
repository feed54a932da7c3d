"""Prompts are files: `retrieval/engine/prompts/<name>.<language>.md`, or `<name>.md` for every language.

A file holds an optional HTML comment (what the prompt is for), the system text, a line `---`, and the user text.
The system text comes first and should not vary, so that the model server's prompt cache works. Variables are those of
`string.Template`: `$query`; braces stay literal and `$$` is a dollar sign. A text of the site's own replaces the file
of that name, and so does a file that a setting names (RAG_REWRITE_PROMPT, RAG_RERANK_PROMPT).
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
    """A prompt is missing or malformed, or a variable was not given. No model has been called."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """`hash`: the first 12 hex digits of its text's SHA-256; it goes into the decision path with each call."""

    name: str
    hash: str
    system: string.Template
    user: string.Template

    @property
    def variables(self) -> set[str]:
        return {*self.system.get_identifiers(), *self.user.get_identifiers()}

    def render(self, variables: dict[str, object]) -> Prompt:
        """Raises PromptError with the names of the variables that are missing."""
        if missing := sorted(self.variables - variables.keys()):
            named = ", ".join(f"${variable}" for variable in missing)
            raise PromptError(
                worded(
                    "prompt {name} needs {named}, which was not given",
                    name=f"{self.name}.md",
                    named=named,
                )
            )
        return Prompt(
            name=self.name,
            hash=self.hash,
            system=self.system.substitute(variables),
            user=self.user.substitute(variables),
            personal=variables.get("memories", NO_MEMORIES) != NO_MEMORIES,
        )


class PromptLibrary:
    """Finds prompts by name and language. A changed file is read again at its next use."""

    def __init__(
        self,
        own: Mapping[str, str] = MappingProxyType({}),
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """own: name with language (`rewrite.en`) → text; files: prompt → the file that serves in its place, in every
        language."""
        self._own = own
        self._files = {name: Path(path).expanduser() for name, path in files.items()}

    def render(self, name: str, *, language: str = "en", **variables: object) -> Prompt:
        """The prompt in this language, filled. Raises PromptError."""
        return self.template(name, language=language).render(variables)

    def template(self, name: str, *, language: str = "en") -> PromptTemplate:
        """The first of: this language, its main language (zh-hant → zh), no language, English; of two the site's own.
        Raises PromptError."""
        if path := self._files.get(name):
            return read_prompt(name, path, path.stat().st_mtime_ns if path.is_file() else 0)
        language = language.lower()
        for tag in (f".{language}", f".{language.split('-')[0]}", "", ".en"):
            if text := self._own.get(f"{name}{tag}"):
                return parse_prompt(name, text)
            path = BUILT_IN / f"{name}{tag}.md"
            if path.is_file():
                return read_prompt(name, path, path.stat().st_mtime_ns)
        raise PromptError(worded("there is no prompt file {name}.md", name=name))


@lru_cache(maxsize=500)
def read_prompt(name: str, path: Path, changed_ns: int) -> PromptTemplate:
    """One file, as it is since then. Raises PromptError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(
            worded(
                "prompt file {name} can't be read: {error}",
                name=path.name,
                error=type(error).__name__,
            )
        ) from error
    return parse_prompt(name, text)


@lru_cache(maxsize=500)
def parse_prompt(name: str, text: str) -> PromptTemplate:
    """Raises PromptError for a text that has no `---` line, or a stray `$`."""
    parts = MARKER.split(LEADING_COMMENT.sub("", text, count=1), maxsplit=1)
    if len(parts) != 2:
        raise PromptError(
            worded(
                "prompt {name} has no line --- between system and user text",
                name=name,
            )
        )
    system, user = (string.Template(part.strip()) for part in parts)
    if not (system.is_valid() and user.is_valid()):
        raise PromptError(
            worded(
                "prompt {name} has a $ that starts no variable; write $$ for a dollar sign",
                name=name,
            )
        )
    return PromptTemplate(
        name=name,
        hash=hashlib.sha256(text.encode()).hexdigest()[:12],
        system=system,
        user=user,
    )


def shipped_prompts() -> dict[str, str]:
    """Name with language (`rewrite.en`) → text, in the order of their names."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(BUILT_IN.glob("*.md"))}
