"""The site itself, and its limits towards its users."""

from __future__ import annotations

import ipaddress
import re
import zoneinfo
from email.utils import parseaddr
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from ragsite.core.rag_settings.email_address import email_settings
from ragsite.core.rag_settings.fields import VERBATIM, Count, Group, Seconds, WholeNumber
from ragsite.core.rag_settings.oidc import Oidc

_ORIGIN = re.compile(r"https?://[^/\s?#@]+/?")  # a `*.` before the host is Django's


def _split(names: Any) -> Any:
    return [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else names


def _pairs(text: Any) -> Any:
    """`paths=90, replays=30`."""
    if not isinstance(text, str):
        return text
    pairs = [part.partition("=") for part in _split(text)]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _switch(text: Any) -> Any:
    """1 and 0 in the words that pydantic takes for them; other words as they are."""
    try:
        return str(int(TypeAdapter(bool).validate_python(text)))
    except ValidationError:
        return text


def _upper(text: Any) -> Any:
    return text.upper() if isinstance(text, str) else text


def _check_networks(proxies: list[str]) -> list[str]:
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            raise ValueError(f"holds {proxy!r}, which is neither an address nor a network such as 10.0.0.0/8") from None
    return proxies


def _check_origins(origins: list[str]) -> list[str]:
    """Django compares whole origins: one without its scheme would never be met, and say nothing."""
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"holds {origin!r}, which is no origin such as https://rag.example.org")
    return [origin.rstrip("/") for origin in origins]


Names = Annotated[list[str], NoDecode, BeforeValidator(_split)]
Days = Annotated[int, Field(ge=0, le=36_500)]


class SiteSettings(Group):
    """The web server, its database and broker, and who may reach it."""

    model_config = SettingsConfigDict(env_prefix="RAGSITE_")

    data_dir: str = ""
    """Folder of all embedded state: SQLite file, Milvus Lite data, uploads, broker files, logs; empty: `var` beside
    manage.py."""
    host: str = "127.0.0.1"
    """Where the web server listens."""
    port: int = Field(8000, gt=0, lt=65536)
    """Port of the web server."""
    admin_password: str = Field("", repr=False, json_schema_extra=VERBATIM)
    """Password of the user `admin` made at the first run; empty: generated and printed once."""
    sample_data: bool = True
    """0: the sample documents are not loaded."""
    signup: Annotated[Literal["1", "0", "oidc"], BeforeValidator(_switch)] = "1"
    """0: only an admin makes accounts; oidc: they are made by signing in with the provider alone."""
    oidc: Annotated[Oidc | None, NoDecode, BeforeValidator(Oidc.parse)] = Field(None, repr=False)
    """A provider of OpenID Connect to sign in with: `issuer=https://id.example.org, client=ragsite, secret=…`, and, if
    wanted, `groups=` with the name of the claim that holds a person's groups, and `name=` for the button. A comma in a
    value is written as %2C."""
    oidc_groups: Annotated[dict[str, str], NoDecode, BeforeValidator(_pairs)] = {}
    """What the provider's groups are on this site: `it=Administrators, library=Reviewers`; set at each sign-in."""
    share_links: bool = False
    """1: conversations may be shared by a secret link, which anybody who has it can read, without an account."""
    https: bool = False
    """1: behind a proxy that speaks HTTPS: secure cookies, `X-Forwarded-Proto` is believed."""
    allowed_hosts: Names = []
    """Further host names of the site, with commas."""
    trusted_origins: Annotated[Names, AfterValidator(_check_origins)] = []
    """Origins such as https://rag.example.org from which forms are taken, with commas; links in letters begin with the
    first."""
    trusted_proxies: Annotated[Names, AfterValidator(_check_networks)] = []
    """Addresses and networks of proxies whose X-Forwarded-For and -Proto are believed, with commas."""
    metrics_token: str = Field("", repr=False, json_schema_extra=VERBATIM)
    """Bearer token that `/metrics` asks for; empty: it is open to staff and to this machine."""
    secret_key: str = Field("", repr=False, json_schema_extra=VERBATIM)
    """Signs cookies; several web machines need the same. Empty: made once and kept in the data folder."""
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_upper)] = "INFO"
    """The least level that is logged."""
    debug: bool = False
    """1: Django's debug mode; never on a site that others reach."""
    database_url: str = Field("", repr=False, validation_alias="DATABASE_URL")
    """`postgresql://user:password@host/name`; empty: SQLite in the data folder."""
    redis_url: str = Field("", repr=False, validation_alias="REDIS_URL")
    """Channel layer, cache and Celery broker; empty: in this process, and a broker of files."""
    email_url: str = Field("", repr=False, validation_alias="EMAIL_URL")
    """`smtp://user:password@host:587` (STARTTLS; with `?tls=0` none) or `smtps://user:password@host:465`; empty:
    letters are written to the log of the worker."""
    email_from: str = "Ragsite <ragsite@localhost>"
    """The sender of letters, such as Ragsite <no-reply@example.org>."""
    time_zone: str = Field("UTC", validation_alias="TZ")
    """Time zone of what people read, such as Europe/Berlin."""
    prompts_dir: str = Field("", validation_alias="RAG_PROMPTS_DIR")
    """A folder; a file there replaces the shipped prompt of the same name."""

    @property
    def local_origin(self) -> str:
        """Where a browser on this machine finds it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: str) -> str:
        if url and not url.startswith(("redis://", "rediss://")):
            raise ValueError("must start with redis:// or rediss://")
        return url

    @field_validator("email_url")
    @classmethod
    def _is_an_email_address(cls, url: str) -> str:
        email_settings(url)
        return url

    @field_validator("email_from")
    @classmethod
    def _is_a_sender(cls, sender: str) -> str:
        _, address = parseaddr(sender)
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", address) or any(char in sender for char in "\r\n"):
            raise ValueError("is not a sender such as Ragsite <no-reply@example.org>")
        return sender

    @field_validator("time_zone")
    @classmethod
    def _is_a_zone(cls, name: str) -> str:
        try:
            zoneinfo.ZoneInfo(name)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            raise ValueError("is not a time zone such as Europe/Berlin") from None
        return name


class LimitSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_LIMIT_")

    message_chars: Count = 8000
    """The longest question, in characters."""
    questions_per_minute: Count = 30
    """Questions of one user in a minute."""
    answers_at_once: Count = 2
    """Answers that are written at once for one user."""
    answer_timeout_s: Seconds = 300.0
    """The whole of one answer; beyond it, it has failed."""
    login_failures: Count = 10
    """Wrong passwords from one address for one username within five minutes."""
    signups_per_hour: Count = 300
    """New accounts from one address in an hour."""


class QuotaSettings(Group):
    """What one user may take up. Staff and the site's own collections are free of it, but for running ingests."""

    model_config = SettingsConfigDict(env_prefix="RAG_QUOTA_")

    storage_mib: WholeNumber = 2048
    """Uploaded files of one user together, in MiB; 0: no bound."""
    documents: WholeNumber = 2000
    """Documents of one user; 0: no bound."""


class StorageSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_STORAGE_")

    min_free_mib: WholeNumber = 64
    """With less room than this many MiB on the disk of the data or of the uploads, nothing new is taken in."""


class RetentionSettings(Group):
    """After how many days what people asked, and what was made of it, is deleted (docs/operations.md); 0: never."""

    model_config = SettingsConfigDict(env_prefix="RAGSITE_RETENTION_")

    conversations_days: Days = 0
    """Days after its last use that a conversation is deleted, with all that hangs on it; 0: never."""
    archived_days: Days = 0
    """Days after its last use that an archived conversation is deleted; 0: never."""
    paths_days: Days = 0
    """Days after an answer that its decision path is deleted, and the prompts of its model calls, which are stored only
    where this is set; 0: never."""
    desk_log_days: Days = 0
    """Days that it is kept who read, changed and exported what at the review desk; 0: for good."""
    evidence_days: Days = 0
    """Days after a rating that what it says for ranking is deleted, while the rating stays; 0: never."""
