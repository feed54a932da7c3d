"""What every section of the settings is made with."""

from __future__ import annotations

from urllib.parse import urlsplit


class SettingsError(ValueError):
    """An environment variable holds a value that cannot be used; the message names the variable."""


def env(name: str) -> dict[str, str]:
    """Metadata of a field whose variable does not follow from its section's prefix."""
    return {"env": name}


def check(condition: bool, message: str) -> None:
    """For `__post_init__`; a message that starts with a field's name is shown with that field's variable."""
    if not condition:
        raise ValueError(message)


def is_address(text: str) -> bool:
    """Whether it is an http(s) address with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
