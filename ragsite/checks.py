"""Set-ups that start without a word and lose something later: several processes that do not share what they must.

`manage.py check --deploy` shows them, and the administration's pages do (`findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings
from django.core import checks
from django.db import Error as DatabaseError
from django.db import connection
from django.utils.translation import gettext as _

from ragsite.models import SiteProcess
from ragsite.runtime import presence

Level = Literal["error", "warning"]
WORKER_CONNECTIONS = 2  # of each process of a worker


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFinding:
    """Something that is wrong with the set-up, in the language that is active. to_do: what its operator does."""

    code: str
    level: Level
    sentence: str
    to_do: str


def findings() -> list[SetupFinding]:
    """What is wrong, the worst first. Asks the database; off the event loop. Raises DatabaseError where it is away."""
    processes = presence.living()
    found: list[SetupFinding] = []
    for look in (_without_redis, _embedded, _uploads, _key, _prompts, _connections):
        found.extend(look(processes))
    return sorted(found, key=lambda finding: finding.level)


def _without_redis(processes: Sequence[SiteProcess]) -> Iterable[SetupFinding]:
    web = [process for process in processes if process.kind == "web"]
    if len(web) > 1 and not all(process.facts.get("redis") for process in web):
        yield SetupFinding(
            code="several_without_redis",
            level="error",
            sentence=_(
                "{count} web processes serve this site, and not all of them have Redis."
            ).format(count=len(web)),
            to_do=_(
                "Set REDIS_URL to the same server for all of them: without it they end each other's answers."
            ),
        )


def _embedded(processes: Sequence[SiteProcess]) -> Iterable[SetupFinding]:
    hosts = {process.host for process in processes}
    if len(hosts) < 2:
        return
    if connection.vendor == "sqlite":
        yield SetupFinding(
            code="sqlite_on_several_machines",
            level="error",
            sentence=_("{count} machines share one SQLite file.").format(count=len(hosts)),
            to_do=_(
                "Set DATABASE_URL to a PostgreSQL server: SQLite's locks do not hold over a network."
            ),
        )
    if any(process.facts.get("milvus_lite") for process in processes):
        yield SetupFinding(
            code="milvus_lite_on_several_machines",
            level="error",
            sentence=_(
                "Several machines serve this site, and some have an index of their own (Milvus Lite)."
            ),
            to_do=_("Set MILVUS_URI to the same server for all of them."),
        )


def _uploads(processes: Sequence[SiteProcess]) -> Iterable[SetupFinding]:
    if _differ(processes, "uploads"):
        yield SetupFinding(
            code="uploads_not_shared",
            level="error",
            sentence=_("Not all processes keep uploaded files in the same place."),
            to_do=_(
                "Set RAGSITE_UPLOADS to the same bucket for all of them, or mount the same folder `uploads` everywhere:"
                " else documents fail because their file is gone."
            ),
        )


def _key(processes: Sequence[SiteProcess]) -> Iterable[SetupFinding]:
    if _differ(processes, "key"):
        yield SetupFinding(
            code="keys_differ",
            level="error",
            sentence=_("Not all processes have the same secret key."),
            to_do=_(
                "Set RAGSITE_SECRET_KEY to the same value everywhere: else people are signed out at random."
            ),
        )
    elif not settings.SITE.secret_key and not (settings.DATA_DIR / "secret_key").is_file():
        yield SetupFinding(
            code="key_of_one_process",
            level="error",
            sentence=_("There is no secret key: each process makes one up."),
            to_do=_("Set RAGSITE_SECRET_KEY: else every restart signs everybody out."),
        )


def _prompts(processes: Sequence[SiteProcess]) -> Iterable[SetupFinding]:
    if _differ(processes, "prompts"):
        yield SetupFinding(
            code="prompts_differ",
            level="warning",
            sentence=_(
                "Not all processes have the same files for RAG_REWRITE_PROMPT and RAG_RERANK_PROMPT."
            ),
            to_do=_(
                "Give them the same files, or write these prompts in the administration in place of the files."
            ),
        )
    if any((settings.DATA_DIR / "prompts").glob("*.md")):
        yield SetupFinding(
            code="prompts_in_a_folder",
            level="warning",
            sentence=_("There are files in the folder `prompts`, which is no longer read."),
            to_do=_("Enter them in the administration under Prompts, and delete the folder."),
        )


def _connections(processes: Sequence[SiteProcess]) -> Iterable[SetupFinding]:
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT least(current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int,"
            " nullif(rolconnlimit, -1)) FROM pg_roles WHERE rolname = current_user"
        )
        allowed: int = cursor.fetchone()[0]
    web = sum(process.kind == "web" for process in processes) * settings.SITE.database_connections
    workers = sum(process.kind == "worker" for process in processes)
    needed = web + workers * (settings.RAG.ingest.workers + 1) * WORKER_CONNECTIONS
    if needed > allowed:
        yield SetupFinding(
            code="too_few_connections",
            level="warning",
            sentence=_(
                "The processes may use {needed} connections to PostgreSQL, which allows {allowed}."
            ).format(needed=needed, allowed=allowed),
            to_do=_("Raise max_connections, or lower RAGSITE_DATABASE_CONNECTIONS."),
        )


def _differ(processes: Sequence[SiteProcess], fact: str) -> bool:
    return len({process.facts.get(fact) for process in processes}) > 1


# ------------------------------------------------------------------------------------------------ manage.py check
MESSAGES: dict[Level, Callable[..., checks.CheckMessage]] = {
    "error": checks.Error,
    "warning": checks.Warning,
}


def check_deployment(**_kwargs: Any) -> list[checks.CheckMessage]:
    """For Django's system checks."""
    try:
        found = findings()
    except DatabaseError as error:
        return [
            checks.Warning(
                "The processes of the site are not known.", hint=str(error), id="ragsite.unknown"
            )
        ]
    return [
        MESSAGES[each.level](each.sentence, hint=each.to_do, id=f"ragsite.{each.code}")
        for each in found
    ]


def connect() -> None:
    checks.register(check_deployment, deploy=True)
