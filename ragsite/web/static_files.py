"""Static files under names that tell their content: compressed ahead of time, and kept by browsers for a year.

`manage.py up` calls `collect`; elsewhere `manage.py collectstatic` does the same. ES modules that import each other are
rewritten as style sheets are, so that a changed module gets a new address in whatever imports it. Where nothing was
collected, and with DEBUG, the plain files are served under their own names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import brotli
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.management import call_command
from filelock import FileLock
from servestatic.compress import Compressor
from servestatic.storage import CompressedManifestStaticFilesStorage

STAMP = "collected"  # the file in STATIC_ROOT that tells what was collected
LOCK = "collecting.lock"
VENDORED = ("js/vendor/", "js/locale/")
STATIC_IMPORT = r"""(?m)^(?P<matched>(?P<what>(?:import|export)\b[^"'=();]*)["'](?P<url>\.{1,2}/[^"']+)["'])"""
LAZY_IMPORT = r"""(?P<matched>\bawait import\(["'](?P<url>\.{1,2}/[^"']+)["']\))"""
# Whole lines of comments, and types of expressions: a quarter of what our scripts weigh when compressed
COMMENT = re.compile(
    r"^[ \t]*//.*\n|^[ \t]*/\*\*(?:[^*]|\*(?!/)){0,2000}\*/[ \t]*\n|/\*\* @type [^*\n]{0,200}\*/ ?", re.MULTILINE
)
LARGE_BYTES = 250_000
TOOLS = ("django", "servestatic", "brotli")  # another version may name or compress otherwise


class StaticFiles(StaticFilesConfig):
    """Django's app, without what no page of ours shows."""

    ignore_patterns = [
        *StaticFilesConfig.ignore_patterns,
        "redoc",
        "rest_framework",
        "*.map",
        "*.d.ts",
        "LICENSE*",
        "README*",
    ]


class QuickCompressor(Compressor):
    """servestatic's, which takes seconds for Swagger's megabytes at Brotli's highest quality."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        return bytes(brotli.compress(data, quality=11 if len(data) < LARGE_BYTES else 9))


class HashedFiles(CompressedManifestStaticFilesStorage):
    """servestatic's storage, with modules, and with plain names while nothing is collected."""

    # Django's own patterns for modules would also take types in comments for imports, and find circles.
    patterns = (
        ("*.css", ManifestStaticFilesStorage.patterns[0][1][:2]),  # url(…) and @import, not source maps
        ("js/*.js", ((STATIC_IMPORT, '%(what)s"%(url)s"'), (LAZY_IMPORT, 'await import("%(url)s")'))),
    )
    max_post_process_passes = 20  # a module is hashed after those that it imports; ours are up to eight deep

    def create_compressor(self, **options: Any) -> Compressor:
        return QuickCompressor(**options)

    def stored_name(self, name: str) -> str:
        return str(super().stored_name(name)) if self.hashed_files else name

    def _save(self, name: str, content: File[bytes]) -> str:
        ours = name.startswith("js/") and name.endswith(".js") and not name.startswith(VENDORED)
        if ours:
            content.seek(0)
            content = ContentFile(COMMENT.sub("", content.read().decode()).encode())
        return str(super()._save(name, content))

    def post_process(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, str | None, bool | Exception]]:
        stamp = Path(self.path(STAMP))
        stamp.unlink(missing_ok=True)
        yield from super().post_process(*args, **kwargs)
        stamp.write_text(_fingerprint())


def collect() -> bool:
    """Bring STATIC_ROOT up to date; whether there was anything to do. Raises OSError when it can't be written."""
    root = Path(settings.STATIC_ROOT)
    if is_current(root):
        return False
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / LOCK):  # several sites may start from one checkout
        if is_current(root):
            return False
        call_command("collectstatic", interactive=False, verbosity=0)
    return True


def is_current(root: Path) -> bool:
    """Whether what was collected there came from the files as they are now."""
    try:
        return (root / STAMP).read_text() == _fingerprint()
    except OSError:
        return False


def _fingerprint() -> str:
    """Changes with any file that would be collected, and with the tools that treat them."""
    digest = hashlib.sha256(repr([version(tool) for tool in TOOLS]).encode())
    digest.update(Path(__file__).read_bytes())
    for finder in finders.get_finders():
        files: Any = finder.list(StaticFiles.ignore_patterns)
        for path, storage in files:
            stat = Path(storage.path(path)).stat()
            digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
