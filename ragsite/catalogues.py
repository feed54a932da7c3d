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
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

from ragsite.core.rag_settings.changeable import changeable_fields, meaning_of

LANGUAGES = {"zh-hans": "zh_Hans", "zh-hant": "zh_Hant"}  # code of Django → folder; English is the source
LOCALE_DIR = settings.BASE_DIR / "ragsite" / "locale"
APPS = ("ragsite", "chat", "retrieval", "feedback")
DOMAINS = ("django", "djangojs")
# Name of a call → places of its id's parts among the arguments.
KEYWORDS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "worded", "joined", "said"), (0,)),
    **dict.fromkeys(("ngettext", "counted", "said_count"), (0, 1)),
}
SCRIPT_CALL = re.compile(r'\b(?:(n)gettext|gettext(?:With)?)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?')
TEMPLATE_CALL = re.compile(r"(?<= )(?:n?p?gettext|_)\(")
TEMPLATE_KEYWORDS = {**DEFAULT_KEYWORDS, "npgettext": ((1, "c"), 2, 3)}
MAKERS = tuple(  # they call gettext with what others wrote
    settings.BASE_DIR / "ragsite" / name for name in ("core/wording.py", "core/localized.py", "catalogues.py")
)
SETTINGS = "ragsite/core/rag_settings/changeable.py"  # what its settings do: the docstrings of their fields
PLACEHOLDER = re.compile(r"(?<!\{)\{\w+(?=[^\w\s])|%\(\w+\)|%[sd]")
WIDTH = 110
NO_DATE = datetime(2026, 1, 1, tzinfo=UTC)  # the repository knows when a text was changed


@cache
def collected(domain: str) -> Catalog:
    """Every text in the sources, in the order of files and lines, with the files it stands in. They are read once."""
    catalogue = Catalog(charset="utf-8")
    for path in _sources(domain):
        name = path.relative_to(settings.BASE_DIR).as_posix()
        for id_, context in _texts(path):
            catalogue.add(id_, locations=[(name, None)], context=context)  # type: ignore[list-item]
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


def _texts(path: Path) -> Iterator[tuple[Any, str | None]]:
    """Id and context of each text."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        for match in SCRIPT_CALL.finditer(source):
            one, many = json.loads(match[2]), json.loads(match[3] or '""')
            yield (one, many) if match[1] else one, None
    elif path.suffix == ".html":
        for line in templatize(source, origin=str(path)).splitlines():  # tags become calls; the rest is blanked out
            for at in TEMPLATE_CALL.finditer(line):
                tag = io.BytesIO(line[at.start() :].encode())
                yield next((id_, context) for _, id_, _, context in extract("python", tag, TEMPLATE_KEYWORDS))
    else:
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and (places := KEYWORDS.get(_called(call))):
                arguments = [call.args[place] for place in places if place < len(call.args)]
                texts = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
                if texts and len(texts) == len(places) and all(isinstance(text, str) and text for text in texts):
                    yield (texts[0] if len(places) == 1 else tuple(texts)), None


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


# ------------------------------------------------------------------------------------------------ files
def po_path(language: str, domain: str) -> Path:
    return Path(LOCALE_DIR / LANGUAGES[language] / "LC_MESSAGES" / f"{domain}.po")


def read_catalogue(language: str, domain: str) -> Catalog:
    """As it stands in the repository."""
    with po_path(language, domain).open("rb") as file:
        return read_po(file, locale=LANGUAGES[language], domain=domain)


def merged(language: str, domain: str) -> Catalog:
    """The texts of the sources with the translations there are. What the sources no longer say is dropped; nothing is
    guessed from similar texts."""
    old, new = read_catalogue(language, domain), Catalog(locale=LANGUAGES[language], charset="utf-8")
    for message in collected(domain):
        if message.id:
            known = old.get(message.id, message.context)
            string, comments = (known.string, known.user_comments) if known else (None, ())
            new.add(message.id, string, message.locations, user_comments=comments, context=message.context)
    return new


def po_text(catalogue: Catalog) -> bytes:
    """With files but without lines and dates, so that only what was changed differs."""
    buffer = io.BytesIO()
    write_po(buffer, _with_header(catalogue), width=WIDTH, include_lineno=False, sort_output=False)
    return buffer.getvalue()


def _with_header(catalogue: Catalog) -> Catalog:
    catalogue.fuzzy = False
    catalogue.project, catalogue.version = "Ragsite", "1"
    catalogue.copyright_holder = catalogue.last_translator = catalogue.language_team = "Ragsite"
    catalogue.msgid_bugs_address = "-"
    catalogue.creation_date = catalogue.revision_date = NO_DATE
    catalogue.header_comment = "# Texts of Ragsite's interface. `make messages` keeps this file; translate below."
    return catalogue


def mo_bytes(catalogue: Catalog) -> bytes:
    """As Django reads it; the same bytes for the same catalogue."""
    buffer = io.BytesIO()
    write_mo(buffer, _with_header(catalogue))
    return buffer.getvalue()


def compiled(language: str) -> dict[Path, bytes]:
    """What is made from a language's catalogues, by its path."""
    return {
        po_path(language, domain).with_suffix(".mo"): mo_bytes(read_catalogue(language, domain)) for domain in DOMAINS
    }


# ------------------------------------------------------------------------------------------------ faults
def faults(language: str, domain: str) -> list[str]:
    """What is wrong with a catalogue, a line each; empty: it is complete and in order."""
    stored = read_catalogue(language, domain)
    texts = {(message.id, message.context) for message in collected(domain) if message.id}
    known = {(message.id, message.context) for message in stored if message.id}
    found = [f"not in the catalogue: {id_!r}" for id_, _ in sorted(texts - known, key=str)]
    found += [f"no longer in the sources: {id_!r}" for id_, _ in sorted(known - texts, key=str)]
    return found + [f"{fault}: {message.id!r}" for message in stored if message.id for fault in _faults_of(message)]


def _faults_of(message: Message) -> Iterator[str]:
    ids, strings = _forms(message.id), _forms(message.string)
    if not all(strings):
        yield "not translated"
        return
    if message.fuzzy:
        yield "marked as fuzzy"
    if len(ids) > 1 and len(strings) != 1:
        yield "Chinese has one form for every number"
    for string in strings:
        if placeholders(string) not in [placeholders(id_) for id_ in ids]:
            yield f"other placeholders than {sorted(placeholders(ids[-1]))}"


def _forms(value: Any) -> list[str]:
    return [str(form or "") for form in (value if isinstance(value, list | tuple) else [value])]


def placeholders(text: str) -> set[str]:
    """The names that values take the place of: `%(name)s`, `%s`, `{name}`."""
    return {name + "}" if name[0] == "{" else name for name in PLACEHOLDER.findall(text)}
