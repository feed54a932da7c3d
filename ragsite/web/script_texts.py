"""The texts of the pages' scripts in the reader's language: for most pages all, for the first ones only theirs.

A page's own are those that stand in its scripts and in what these import, at once or later.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template import Context, Engine
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import last_modified
from django.views.i18n import JavaScriptCatalog, builtin_template_path, get_formats

SCRIPTS = Path(__file__).resolve().parent / "static" / "js"
VENDORED = SCRIPTS / "vendor"  # has no texts of ours
ENTRIES = {  # page → the scripts that its template names; without an entry: all texts
    "all": (),
    "chat": ("chat/app.js", "shell.js"),
    "sign_in": ("accounts.js",),
}
_IMPORTED = re.compile(r"""\b(?:from|import)\s*\(?\s*["'](\.{1,2}/[\w./-]+)["']""")
_CONTEXT_END = "\x04"  # in a key of Django's catalogue
_STARTED = timezone.now()


@cache_control(no_cache=True)
@last_modified(lambda _request, page: _STARTED)
@gzip_page
def script_texts(request: HttpRequest, page: str) -> HttpResponseBase:
    """page: of ENTRIES."""
    if page not in ENTRIES:
        raise Http404
    return _Texts.as_view(packages=["ragsite"])(request, page=page)


class _Texts(JavaScriptCatalog):
    """Django's, with less of it, and letters as they are: escaped they take twice as much."""

    def get_catalog(self) -> dict[str, Any]:
        texts: dict[str, Any] = super().get_catalog()
        if not ENTRIES[self.kwargs["page"]]:
            return texts
        scripts = _source(self.kwargs["page"])
        return {key: text for key, text in texts.items() if _as_written(key) in scripts}

    def render_to_response(self, context: dict[str, Any], **_: Any) -> HttpResponse:
        template = builtin_template_path("i18n_catalog.js").read_text("utf-8")
        values = {
            "catalog_str": _json(context["catalog"]) if context["catalog"] else None,
            "formats_str": _json(get_formats()),
            "plural": context["plural"],
        }
        text = Engine().from_string(template).render(Context(values))
        return HttpResponse(text, content_type="text/javascript; charset=utf-8")


def _as_written(key: str) -> str:
    return json.dumps(key.rpartition(_CONTEXT_END)[2], ensure_ascii=False)[1:-1]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


@cache  # a catalogue is read once, too
def _source(page: str) -> str:
    return "\n".join(script.read_text("utf-8") for script in sorted(scripts_of(page)))


def scripts_of(page: str) -> set[Path]:
    """The scripts of a page, and all that they import."""
    found: set[Path] = set()
    waiting = [SCRIPTS / entry for entry in ENTRIES[page]]
    while waiting:
        script = waiting.pop()
        if script in found or script.is_relative_to(VENDORED):
            continue
        found.add(script)
        imported = _IMPORTED.findall(script.read_text("utf-8"))
        waiting += [(script.parent / name).resolve() for name in imported]
    return found
