"""Prompts are files: `retrieval/prompts/<name>.<language>.md`, or `<name>.md` for every language.

A file holds an optional HTML comment (what the prompt is for), the system text, a line `---`, and the user text.
The system text comes first and should not vary, so that the model server's prompt cache works. Variables are those of
`string.Template`: `$query`; braces stay literal and `$$` is a dollar sign. A file of the same name in the setting
`prompts_dir` replaces ours.
"""

from __future__ import annotations

import hashlib
import re
import string
from dataclasses import dataclass
from pathlib import Path

from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.ports import Prompt

BUILT_IN = Path(__file__).resolve().parent / "prompts"
MARKER = re.compile(r"^---[ \t]*$", re.MULTILINE)
LEADING_COMMENT = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)
NO_MEMORIES = "-"  # what `$memories` is where nothing is remembered (`retrieval.steps.memory.quote_memories`)
NAME = re.compile(r"[a-z0-9_]+(-[a-z0-9_]+)*")


class PromptError(ModelError):
    """A prompt's file is missing or malformed, or a variable was not given. No model has been called."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """`hash`: the first 12 hex digits of the file's SHA-256; it goes into the decision path with each call."""

    name: str
    path: Path
    hash: str
    system: string.Template
    user: string.Template

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(self.system.get_identifiers()) | frozenset(self.user.get_identifiers())

    def render(self, variables: dict[str, object]) -> Prompt:
        """Raises PromptError with the names of the variables that are missing."""
        if missing := sorted(self.variables - variables.keys()):
            named = ", ".join(f"${variable}" for variable in missing)
            raise PromptError(
                worded("prompt {name} needs {named}, which was not given", name=self.path.name, named=named)
            )
        return Prompt(
            name=self.name,
            hash=self.hash,
            system=self.system.substitute(variables),
            user=self.user.substitute(variables),
            personal="memories" in self.variables and variables["memories"] != NO_MEMORIES,
        )


class PromptLibrary:
    """Finds prompt files. A changed file is read anew at its next use."""

    def __init__(self, prompts_dir: str = "") -> None:
        self._own = Path(prompts_dir).expanduser() if prompts_dir else None
        self._read: dict[Path, tuple[int, PromptTemplate]] = {}

    def render(self, name: str, *, language: str = "en", **variables: object) -> Prompt:
        """The prompt in this language, filled. Raises PromptError."""
        return self.template(name, language=language).render(variables)

    def template(self, name: str, *, language: str = "en") -> PromptTemplate:
        """The first file of: this language, its main language (zh-hant → zh), no language, English."""
        if not NAME.fullmatch(name):
            raise PromptError(worded("prompt name {name!r} is not made of small letters, digits, - and _", name=name))
        for file_name in file_names(name, language):
            if own := self._file(name, self._own, file_name):
                return own
            if built_in := self._file(name, BUILT_IN, file_name):
                return built_in
        raise PromptError(worded("there is no prompt file {name}.md", name=name))

    def _file(self, name: str, folder: Path | None, file_name: str) -> PromptTemplate | None:
        """Raises PromptError; None: there is no such file."""
        if folder is None:
            return None
        path = folder / file_name
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            return None
        return self._cached(name, path, changed)

    def _cached(self, name: str, path: Path, changed: int) -> PromptTemplate:
        known = self._read.get(path)
        if known is None or known[0] != changed:
            known = self._read[path] = (changed, parse_prompt(name, path))
        return known[1]


def file_names(name: str, language: str) -> list[str]:
    """File names in order of preference."""
    language = language.lower()
    languages = [language, language.split("-")[0], "", "en"]
    return list(dict.fromkeys(f"{name}.{tag}.md" if tag else f"{name}.md" for tag in languages))


def parse_prompt(name: str, path: Path) -> PromptTemplate:
    """Read one file. Raises PromptError when it can't be read, has no `---` line, or a stray `$`."""
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
    return PromptTemplate(
        name=name, path=path, hash=hashlib.sha256(text.encode()).hexdigest()[:12], system=system, user=user
    )
