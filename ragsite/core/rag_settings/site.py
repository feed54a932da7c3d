"""The site itself, and its limits towards its users."""

from __future__ import annotations

import ipaddress
import re
from email.utils import parseaddr
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from ragsite.core.rag_settings.fields import CONSTANT, VERBATIM, Count, Group, Seconds, WholeNumber, is_address

Days = Annotated[int, Field(ge=0, le=36_500)]


def _split(names: Any) -> Any:
    return [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else names


def _pairs(text: Any) -> Any:
    """`it=Administrators, library=Reviewers`."""
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


# ------------------------------------------------------------------------------------------------ OpenID Connect
WRONG_OIDC = "is not issuer=https://id.example.org, client=…, secret=…"


class Oidc(BaseModel):
    """issuer: its address, without /.well-known/…. groups: the claim with a person's groups. name: of the button."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    client: str = Field(min_length=1)
    secret: str = Field(min_length=1, repr=False)
    groups: str = ""
    name: str = "OpenID Connect"

    @classmethod
    def parse(cls, text: Any) -> Self | None:
        """Raises ValueError, whose message does not hold the value."""
        if not isinstance(text, str):
            return text
        try:
            provider = cls(**{name: unquote(value) for name, value in _pairs(text).items()})
        except ValidationError:
            raise ValueError(WRONG_OIDC) from None
        if not is_address(provider.issuer):
            raise ValueError(WRONG_OIDC)
        return provider

    def as_app(self) -> dict[str, Any]:
        """As allauth has it."""
        issuer = {"server_url": self.issuer.rstrip("/")}
        names = {"provider_id": "oidc", "name": self.name}
        return {**names, "client_id": self.client, "secret": self.secret, "settings": issuer}


# ------------------------------------------------------------------------------------------------ e-mail
EMAIL_BACKEND = "django.core.mail.backends.{}.EmailBackend"
EMAIL_PORTS = {"smtp": 587, "smtps": 465}
EMAIL_TIMEOUT_S = 20  # of connecting, and of each answer of the mail server
WRONG_EMAIL = "is not console:, smtp://user:password@host:587 or smtps://user:password@host:465"


def email_settings(url: str) -> dict[str, Any]:
    """Django's settings by name, of `EMAIL_URL`.

    A character of user or password that means something in an address is written as %40 and the like. Raises
    ValueError, whose message does not hold the address.
    """
    values: dict[str, Any] = {"EMAIL_BACKEND": EMAIL_BACKEND.format("smtp"), "EMAIL_TIMEOUT": EMAIL_TIMEOUT_S}
    if url in ("", "console:"):
        return values | {"EMAIL_BACKEND": EMAIL_BACKEND.format("console")}
    try:
        parts = urlsplit(url)
        query, port = parse_qs(parts.query, strict_parsing=bool(parts.query)), parts.port
    except ValueError:
        raise ValueError(WRONG_EMAIL) from None
    is_server = parts.scheme in EMAIL_PORTS and bool(parts.hostname) and parts.path in ("", "/") and port != 0
    if not is_server or query not in ({}, {"tls": ["0"]}, {"tls": ["1"]}):
        raise ValueError(WRONG_EMAIL)
    return values | {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or EMAIL_PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and parts.query != "tls=0",
    }


# ------------------------------------------------------------------------------------------------ groups
class SiteSettings(Group):
    """The web server, its database and broker, and who may reach it. Times are shown in the zone of `TZ`, as for any
    program. A file in the data folder's `prompts` replaces the shipped prompt of the same name."""

    env_prefix = "RAGSITE_"

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
    oidc: Annotated[Oidc | None, BeforeValidator(Oidc.parse)] = Field(None, repr=False)
    """A provider of OpenID Connect to sign in with: `issuer=https://id.example.org, client=ragsite, secret=…`, and, if
    wanted, `groups=` with the name of the claim that holds a person's groups, and `name=` for the button. A comma in a
    value is written as %2C."""
    oidc_groups: Annotated[dict[str, str], BeforeValidator(_pairs)] = {}
    """What the provider's groups are on this site: `it=Administrators, library=Reviewers`; set at each sign-in."""
    share_links: bool = False
    """1: conversations may be shared by a secret link, which anybody who has it can read, without an account."""
    trusted_origins: Annotated[list[str], BeforeValidator(_split)] = []
    """How people reach the site, with commas, such as https://rag.example.org or http://10.0.0.5:8000; links in letters
    begin with the first. With one of https:// cookies are for HTTPS alone, and the proxy's `X-Forwarded-Proto` is
    believed."""
    trusted_proxies: Annotated[list[str], BeforeValidator(_split)] = []
    """Addresses and networks of proxies whose X-Forwarded-For and -Proto are believed, with commas."""
    secret_key: str = Field("", repr=False, json_schema_extra=VERBATIM)
    """Signs cookies; several web machines need the same. Empty: made once and kept in the data folder."""
    database_url: str = Field("", repr=False, validation_alias="DATABASE_URL")
    """`postgresql://user:password@host/name`; empty: SQLite in the data folder."""
    redis_url: str = Field("", repr=False, validation_alias="REDIS_URL")
    """Channel layer, cache and Celery broker; empty: in this process, and a broker of files."""
    email_url: str = Field("", repr=False, validation_alias="EMAIL_URL")
    """`smtp://user:password@host:587` (STARTTLS; with `?tls=0` none) or `smtps://user:password@host:465`; empty:
    letters are written to the log of the worker."""
    email_from: str = "Ragsite <ragsite@localhost>"
    """The sender of letters, such as Ragsite <no-reply@example.org>."""

    @property
    def local_origin(self) -> str:
        """Where a browser on this machine finds it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def https(self) -> bool:
        return any(origin.startswith("https:") for origin in self.trusted_origins)

    @property
    def hosts(self) -> list[str]:
        """As Django has it: all hosts below `*.example.org` are `.example.org`."""
        return [str(urlsplit(origin).hostname).removeprefix("*") for origin in self.trusted_origins]

    @field_validator("trusted_origins")
    @classmethod
    def _are_origins(cls, origins: list[str]) -> list[str]:
        """Django compares whole origins: one without its scheme would never be met, and say nothing."""
        for origin in origins:
            if not re.fullmatch(r"https?://[^/\s?#@]+/?", origin):
                raise ValueError(f"holds {origin!r}, which is no origin such as https://rag.example.org")
        return [origin.rstrip("/") for origin in origins]

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                reason = "which is neither an address nor a network such as 10.0.0.0/8"
                raise ValueError(f"holds {proxy!r}, {reason}") from None
        return proxies

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


class LimitSettings(Group):
    env_prefix = "RAG_LIMIT_"

    message_chars: Annotated[Count, CONSTANT] = 8000  # of a question
    questions_per_minute: Count = 30
    """Questions of one user in a minute."""
    answers_at_once: Count = 2
    """Answers that are written at once for one user."""
    answer_timeout_s: Annotated[Seconds, CONSTANT] = 300.0  # the whole of one answer; beyond it, it has failed


class QuotaSettings(Group):
    """What one user may take up. Staff and the site's own collections are free of it."""

    env_prefix = "RAG_QUOTA_"

    storage_mib: WholeNumber = 2048
    """Uploaded files of one user together, in MiB; 0: no bound."""
    documents: Annotated[WholeNumber, CONSTANT] = 2000  # of one user


class RetentionSettings(Group):
    """After how many days what people asked, and what was made of it, is deleted (docs/operations.md); 0: never."""

    env_prefix = "RAGSITE_RETENTION_"

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
