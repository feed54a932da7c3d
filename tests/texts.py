"""Readers of sources for `pybabel` (babel.cfg), beside those of Babel. A running site never imports this."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from typing import IO, Any

import django
from babel.messages.extract import extract_python

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
django.setup()

from django.utils.translation.template import templatize  # noqa: E402

from ragsite.core.runtime_settings import changeable_fields, meaning_of  # noqa: E402

CALLS = {
    **dict.fromkeys(("_", "gettext_lazy", "worded", "joined", "translate"), "gettext"),
    **dict.fromkeys(("ngettext_lazy", "counted", "translate_count"), "ngettext"),
}
SCRIPT_CALL = re.compile(
    r'\b(?:n?gettext|gettextWith)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?'
)


def modules(file: IO[bytes], keywords: Any, comment_tags: Any, options: Any) -> Iterator[Any]:
    """Of Python."""
    for line, name, texts, comments in extract_python(
        file, [*keywords, *CALLS], comment_tags, options
    ):
        yield line, CALLS.get(name, name), texts, comments


def templates(file: IO[bytes], keywords: Any, comment_tags: Any, options: Any) -> Iterator[Any]:
    """Django's templates: their tags become calls, the rest is blanked out."""
    code = "\n".join(line.strip() for line in templatize(file.read().decode()).splitlines())
    return modules(io.BytesIO(code.encode()), keywords, comment_tags, options)


def scripts(file: IO[bytes], keywords: Any, comment_tags: Any, options: Any) -> Iterator[Any]:
    """Of the pages. Babel's reader overlooks calls among the arguments of others, and in template strings."""
    for call in SCRIPT_CALL.finditer(file.read().decode()):
        texts = tuple(json.loads(text) for text in call.groups() if text)
        yield (1, "ngettext", texts, []) if len(texts) > 1 else (1, "gettext", texts[0], [])


def settings(file: IO[bytes], keywords: Any, comment_tags: Any, options: Any) -> Iterator[Any]:
    """What the settings do that superusers change: the docstrings of their fields."""
    return ((1, "gettext", meaning_of(field), []) for _, _, field in changeable_fields().values())
