"""Variables that look like the site's own and are none, so that a misspelt name does not go unnoticed.

A warning and no refusal: a program beside this one may have variables with the same beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.core import checks

from ragsite.core.rag_settings import GROUPS, SiteSettings
from ragsite.core.rag_settings.fields import Group
from ragsite.retired_settings import GONE, RETIRED

logger = logging.getLogger(__name__)

OURS = ("RAGSITE_", "RAG_")
OF_TESTS = "RAGSITE_TEST_"  # read by the test suite alone
LIKENESS = 0.8  # of two names, as `difflib` counts it; below it a suggestion would more often be wrong than right


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variable that is set and that nothing reads → the nearest one that is read, or "" where none is near.

    Small letters do not make another name of it: `rag_chat_model` is as good as misspelt.
    """
    groups: list[type[Group]] = [SiteSettings, *GROUPS.values()]
    read = {variable for group in groups for variable in group.variables().values()}
    known = read | set(RETIRED) | set(GONE)
    return {
        name: _nearest(name.upper(), sorted(read))
        for name in sorted(environ)
        if name.upper().startswith(OURS) and not name.startswith(OF_TESTS) and name not in known
    }


def _nearest(name: str, read: list[str]) -> str:
    """Some are read without our beginning: RAGSITE_DATABASE_URL is meant for DATABASE_URL."""
    bare = name.partition("_")[2]
    return bare if bare in read else next(iter(get_close_matches(name, read, n=1, cutoff=LIKENESS)), "")


def warn_of_unknown(variables: Mapping[str, str]) -> None:
    for name, nearest in variables.items():
        logger.warning("%s %s", _sentence(name), _hint(nearest))


def check_variables(**_: Any) -> list[checks.CheckMessage]:
    """For `manage.py check`, and every command that checks the site before it begins."""
    return [
        checks.Warning(_sentence(name), hint=_hint(nearest), id="ragsite.W001")
        for name, nearest in unknown_variables(settings.ENVIRON).items()
    ]


def _sentence(name: str) -> str:
    return f"Nothing reads the variable {name} (environment, or .env beside manage.py)."


def _hint(nearest: str) -> str:
    return f"Did you mean {nearest}?" if nearest else "All that are read: docs/settings.md."
