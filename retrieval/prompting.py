"""Prompts are files: `retrieval/prompts/<name>.<language>.md`, or `<name>.md` for every language.

A file holds an optional HTML comment (what the prompt is for), the system text, a line `---`, and the user text.
The system text comes first and should not vary, so that the model server's prompt cache works. Variables are those of
`string.Template`: `$query`; braces stay literal and `$$` is a dollar sign. A file of the same name in the setting
`prompts_dir` replaces ours; without one, a text that administrators have put in its place (`RagSettings.prompts`).
"""

from __future__ import annotations

import hashlib
import logging
import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ragsite.core.wording import Sentence, joined, worded
from retrieval.errors import ModelError
from retrieval.ports import Prompt

BUILT_IN = Path(__file__).resolve().parent / "prompts"
MARKER = re.compile(r"^---[ \t]*$", re.MULTILINE)
LEADING_COMMENT = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.?!]) ")
NO_MEMORIES = "-"  # what `$memories` is where nothing is remembered (`retrieval.steps.memory.quote_memories`)
NAME = re.compile(r"[a-z0-9_]+(-[a-z0-9_]+)*")
QUOTED = re.compile(r"^<([a-z_]+)>\n\$(\w+)\n</\1>$", re.MULTILINE)  # what others wrote, within its tags
VARIABLE = re.compile(r"\$\w+")
MAX_CHARS = 20_000  # of a prompt in place of ours
ASKED_AFTER = 4  # lines at its end that hold the question: what is cut of too long a prompt is cut before them

logger = logging.getLogger(__name__)


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
            instructions=f"{self.system.template}\n{VARIABLE.sub('', self.user.template)}",
        )


class PromptLibrary:
    """Finds prompt files. A changed file is read anew at its next use.

    `texts`: (file name without its ending, text) of prompts in place of ours; one that lacks what ours has
    (`prompt_faults`) is left out, and `left_out` names it.
    """

    def __init__(self, prompts_dir: str = "", texts: Iterable[tuple[str, str]] = ()) -> None:
        self._own = Path(prompts_dir).expanduser() if prompts_dir else None
        self._read: dict[Path, tuple[int, PromptTemplate]] = {}
        self._texts: dict[str, PromptTemplate] = {}
        self.left_out: list[str] = []
        for stem, text in texts:
            if prompt_faults(stem, text):
                self.left_out.append(stem)
                continue
            path = BUILT_IN / f"{stem}.md"
            self._texts[path.name] = parse_text(stem.partition(".")[0], path, text)
        if self.left_out:
            logger.warning("prompts that can't be used are left out: %s", ", ".join(self.left_out))

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
            if (text := self._texts.get(file_name)) is not None:
                return text
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
    return parse_text(name, path, text)


def parse_text(name: str, path: Path, text: str) -> PromptTemplate:
    """`path`: of the file that it is, or stands for. Raises PromptError as `parse_prompt`."""
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


def built_in_prompts() -> list[str]:
    """The names of our prompt files without their endings, such as "generate.en", in order."""
    return sorted(path.stem for path in BUILT_IN.glob("*.md"))


def built_in_text(stem: str) -> str:
    """The shipped text. Raises PromptError for a name that is none of ours."""
    if stem not in built_in_prompts():
        raise PromptError(worded("there is no prompt file {name}.md", name=stem))
    return (BUILT_IN / f"{stem}.md").read_text(encoding="utf-8")


def about_prompt(text: str) -> str:
    """The first sentence of the comment on top; what follows is for those who change the code."""
    found = LEADING_COMMENT.match(text)
    comment = " ".join(found[0].strip().removeprefix("<!--").removesuffix("-->").split()) if found else ""
    return SENTENCE_END.split(comment, maxsplit=1)[0].partition(" (retrieval/")[0].rstrip(".。")


def prompt_abouts() -> list[str]:
    """What each of ours is for, in English: the keys of their translations."""
    return [
        about for stem in built_in_prompts() if stem.endswith(".en") and (about := about_prompt(built_in_text(stem)))
    ]


def prompt_faults(stem: str, text: str) -> list[Sentence]:
    """Why this text can't stand in place of our prompt of that name; empty: it can.

    It needs all variables of ours and knows no others, keeps what others wrote within the tags that say so, varies in
    the user's part alone, and ends with the question.
    """
    try:
        ours = parse_text(stem, Path(f"{stem}.md"), built_in_text(stem))
        theirs = parse_text(stem, Path(f"{stem}.md"), text)
    except PromptError as error:
        return [joined("", [error.reason])]
    return list(_faults(ours, theirs, text))


def _faults(ours: PromptTemplate, theirs: PromptTemplate, text: str) -> Iterator[Sentence]:
    if len(text) > MAX_CHARS:
        yield worded("The text has more than {most} characters.", most=MAX_CHARS)
    if theirs.system.get_identifiers():
        yield worded("Variables belong below the line ---: the system text above it must not vary.")
    if missing := sorted(ours.variables - theirs.variables):
        yield worded("These variables are missing: {names}.", names=_dollars(missing))
    if unknown := sorted(theirs.variables - ours.variables):
        yield worded("These variables are not known here: {names}.", names=_dollars(unknown))
    lines = theirs.user.template.splitlines()
    if "question" in ours.variables and not any("$question" in line for line in lines[-ASKED_AFTER:]):
        yield worded("$question has to stand in the last {count} lines.", count=ASKED_AFTER)
    kept = set(QUOTED.findall(theirs.user.template))
    for tag, variable in QUOTED.findall(ours.user.template):
        if (tag, variable) not in kept:
            yield worded(
                "${variable} has to stand alone on a line between <{tag}> and </{tag}>: it is text that others wrote.",
                variable=variable,
                tag=tag,
            )
        elif f"<{tag}>" in ours.system.template and f"<{tag}>" not in theirs.system.template:
            yield worded("The system text has to say that what stands in <{tag}> is quoted, no instruction.", tag=tag)


def _dollars(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in names)
