"""What the answer with a script, a style sheet or a font says beside its kind and age."""

from __future__ import annotations

from collections.abc import MutableMapping


def add_static_headers(headers: MutableMapping[str, str], path: str, url: str) -> None:
    """Of Django's policies the one that holds for files: that they are what their type says."""
    headers["X-Content-Type-Options"] = "nosniff"
