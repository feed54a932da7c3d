"""The catalogues of the interface's texts: collected from the sources, merged, checked, compiled.

`ragsite/locale/LANGUAGE/LC_MESSAGES` holds `django.po` (Python and templates) and `djangojs.po` (the pages' scripts) as
translators edit them; beside them what Django reads, `django.mo` and `djangojs.mo`. Needs Babel, which is a tool for
development: a running site never imports this module.
"""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

from ragsite.core.rag_settings.changeable import changeable_fields, meaning_of

LANGUAGES = {"zh-hans": "zh_Hans", "zh-hant": "zh_Hant"}  # code of Django → folder; English is the source
LOCALE_DIR = settings.BASE_DIR / "ragsite" / "locale"
APPS = ("ragsite", "chat", "retrieval", "feedback")
DOMAINS = ("django", "djangojs")
# Name of a call → places of its id's parts among the arguments; of a context first, where there is one.
KEYWORDS: dict[str, tuple[int, ...]] = {
    "_": (0,), "gettext": (0,), "gettext_lazy": (0,), "ngettext": (0, 1), "worded": (0,), "joined": (0,),
    "counted": (0, 1), "said": (0,), "said_count": (0, 1),
}  # fmt: skip
SCRIPT_CALL = re.compile(r'\b(?:(n)gettext|gettext(?:With)?)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?')
MAKERS = tuple(  # they call gettext with what others wrote
    settings.BASE_DIR / "ragsite" / name for name in ("core/wording.py", "core/localized.py", "catalogues.py")
)
SETTINGS = "ragsite/core/rag_settings/changeable.py"  # what its settings do: the docstrings of their fields
WIDTH = 110
NO_DATE = datetime(2026, 1, 1, tzinfo=UTC)  # the repository knows when a text was changed

Id = str | tuple[str, ...]


@cache
def collected(domain: str) -> Catalog:
    """Every text in the sources, in the order of files and lines, with the files it stands in. They are read once."""
    catalogue = Catalog(charset="utf-8")
    for path in _sources(domain):
        name = path.relative_to(settings.BASE_DIR).as_posix()
        for id_, context, comments in _texts(path):
            catalogue.add(id_, locations=[(name, None)], auto_comments=comments, context=context)  # type: ignore[list-item]
    if domain == "django":
        for _group, _name, field in changeable_fields().values():
            catalogue.add(meaning_of(field), locations=[(SETTINGS, None)])  # type: ignore[list-item]
    return catalogue


def _sources(domain: str) -> list[Path]:
    if domain == "djangojs":
        scripts = settings.BASE_DIR / "ragsite" / "web" / "static" / "js"
        return sorted(path for path in scripts.rglob("*.js") if "vendor" not in path.parts)
    modules = [
        path
        for app in APPS
        for path in (settings.BASE_DIR / app).rglob("*.py")
        if "migrations" not in path.parts and path not in MAKERS
    ]
    return sorted([*modules, *(settings.BASE_DIR / "templates").rglob("*.html")])


def _texts(path: Path) -> Iterator[tuple[Id, str | None, list[str]]]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        yield from _template_texts(source, str(path))
        return
    if path.suffix == ".js":
        yield from ((_script_id(call), None, []) for call in SCRIPT_CALL.finditer(source))
        return
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and (places := KEYWORDS.get(_called(call))):
            arguments = [call.args[place] for place in places if place < len(call.args)]
            ids = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            texts = [id_ for id_ in ids if isinstance(id_, str) and id_]
            if texts and len(texts) == len(places):
                yield (texts[0] if len(places) == 1 else tuple(texts)), None, []


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _script_id(call: re.Match[str]) -> Id:
    one, many = json.loads(call[2]), json.loads(call[3] or '""')
    return (one, many) if call[1] else one


def _template_texts(source: str, origin: str) -> Iterator[tuple[Id, str | None, list[str]]]:
    """Django turns a template's tags into calls of gettext; whatever stands around them is blanked out."""
    for line in templatize(source, origin=origin).splitlines():
        for start, name in _calls(line):
            arguments = _string_arguments(line[start:])
            if name.startswith(("np", "p")):
                context, *ids = arguments
            else:
                context, ids = "", arguments
            yield tuple(ids) if name.startswith("n") else ids[0], context or None, []


def _calls(line: str) -> Iterator[tuple[int, str]]:
    for name in ("gettext", "ngettext", "pgettext", "npgettext", "_"):
        position = line.find(f" {name}(")
        while position >= 0:
            yield position + len(name) + 2, name
            position = line.find(f" {name}(", position + 1)


def _string_arguments(text: str) -> list[str]:
    """The leading string literals of a call's arguments."""
    for end in (position for position, character in enumerate(text) if character == ")"):
        try:
            call = ast.parse(f"f({text[: end + 1]}", mode="eval").body
        except SyntaxError:
            continue
        if isinstance(call, ast.Call):
            return [str(argument.value) for argument in call.args if isinstance(argument, ast.Constant)]
    raise ValueError(f"no arguments in {text[:80]!r}")


# ------------------------------------------------------------------------------------------------ files
def po_path(language: str, domain: str) -> Path:
    return Path(LOCALE_DIR / LANGUAGES[language] / "LC_MESSAGES" / f"{domain}.po")


def read_catalogue(language: str, domain: str) -> Catalog:
    """As it stands in the repository; empty where it is not there yet."""
    path = po_path(language, domain)
    if not path.exists():
        return Catalog(locale=LANGUAGES[language])
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGES[language], domain=domain)


def merged(language: str, domain: str) -> Catalog:
    """The texts of the sources with the translations there are. What the sources no longer say is dropped; nothing is
    guessed from similar texts."""
    old, new = read_catalogue(language, domain), Catalog(locale=LANGUAGES[language], charset="utf-8")
    for message in collected(domain):
        if not message.id:
            continue
        known = old.get(message.id, message.context)
        new.add(
            message.id,
            string=known.string if known else None,
            locations=message.locations,
            auto_comments=message.auto_comments,
            user_comments=known.user_comments if known else (),
            context=message.context,
        )
    return new


def po_text(catalogue: Catalog) -> bytes:
    """With files but without lines and dates, so that only what was changed differs."""
    buffer = io.BytesIO()
    write_po(buffer, _with_header(catalogue), width=WIDTH, include_lineno=False, sort_output=False)
    return buffer.getvalue()


def mo_bytes(catalogue: Catalog) -> bytes:
    """As Django reads it; the same bytes for the same catalogue."""
    buffer = io.BytesIO()
    write_mo(buffer, _with_header(catalogue))
    return buffer.getvalue()


def _with_header(catalogue: Catalog) -> Catalog:
    catalogue.fuzzy = False
    catalogue.project, catalogue.version = "Ragsite", "1"
    catalogue.copyright_holder = catalogue.last_translator = catalogue.language_team = "Ragsite"
    catalogue.msgid_bugs_address = "-"
    catalogue.creation_date = catalogue.revision_date = NO_DATE
    catalogue.header_comment = "# Texts of Ragsite's interface. `make messages` keeps this file; translate below."
    return catalogue


def compiled(language: str) -> dict[Path, bytes]:
    """What is made from a language's catalogues, by its path."""
    return {
        po_path(language, domain).with_suffix(".mo"): mo_bytes(read_catalogue(language, domain)) for domain in DOMAINS
    }


# ------------------------------------------------------------------------------------------------ faults
def faults(language: str, domain: str) -> list[str]:
    """What is wrong with a catalogue, a line each; empty: it is complete and in order."""
    found: list[str] = []
    stored = read_catalogue(language, domain)
    texts = {(message.id, message.context) for message in collected(domain) if message.id}
    known = {(message.id, message.context) for message in stored if message.id}
    found += [f"not in the catalogue: {id_!r}" for id_, _ in sorted(texts - known, key=str)]
    found += [f"no longer in the sources: {id_!r}" for id_, _ in sorted(known - texts, key=str)]
    for message in stored:
        if message.id:
            found += [f"{problem}: {message.id!r}" for problem in _faults_of(message)]
    return found


def _faults_of(message: Message) -> Iterator[str]:
    ids = [str(id_) for id_ in _forms(message.id)]
    strings = [str(string or "") for string in _forms(message.string)]
    if not all(strings):
        yield "not translated"
        return
    if message.fuzzy:
        yield "marked as fuzzy"
    if isinstance(message.id, tuple) and len(strings) != 1:
        yield "Chinese has one form for every number"
    for string in strings:
        if placeholders(string) != placeholders(ids[-1]) and placeholders(string) != placeholders(ids[0]):
            yield f"other placeholders than {sorted(placeholders(ids[-1]))}"


def _forms(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [value]


def placeholders(text: str) -> set[str]:
    """The names that values take the place of: `%(name)s`, `%s`, `{name}`."""
    braces = _brace_fields(text)
    percents: set[str] = set()
    plain: set[str] = set()
    for position, character in enumerate(text):
        if character == "%" and text[position + 1 : position + 2] == "(":
            percents.add(text[position + 2 : text.index(")", position)])
        elif character == "%" and text[position + 1 : position + 2] in ("s", "d"):
            plain.add(text[position : position + 2])
    return {f"{{{name}}}" for name in braces} | {f"%({name})" for name in percents} | plain


def _brace_fields(text: str) -> Iterable[str]:
    try:
        return [name for _, name, _, _ in Formatter().parse(text) if name]
    except ValueError:
        return []  # a lone brace: no format string
