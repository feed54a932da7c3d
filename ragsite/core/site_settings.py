"""The site itself: where it listens, who reaches it, how people sign in, and what it stores with whom."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    StringConstraints,
    field_validator,
)

from ragsite.core.settings_group import Address, Group, SettingsError


def _split(names: Any) -> Any:
    return (
        [part for name in names.split(",") if (part := name.strip().rstrip("/"))]
        if isinstance(names, str)
        else names
    )


def _pairs(text: Any) -> Any:
    """`it=Administrators, library=Reviewers`."""
    if not isinstance(text, str):
        return text
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


class Oidc(BaseModel):
    """issuer: its address, without /.well-known/…. groups: the claim with a person's groups. name: of the button."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Address = Field(min_length=1)
    client: str = Field(min_length=1)
    secret: str = Field(min_length=1, repr=False)
    groups: str = ""
    name: str = "OpenID Connect"

    def as_app(self) -> dict[str, Any]:
        """As allauth has it."""
        issuer = {"server_url": self.issuer.rstrip("/")}
        names = {"provider_id": "oidc", "name": self.name}
        return {**names, "client_id": self.client, "secret": self.secret, "settings": issuer}


EMAIL_BACKEND = "django.core.mail.backends.{}.EmailBackend"
EMAIL_PORTS = {"smtp": 587, "smtps": 465}
EMAIL_TIMEOUT_S = 20  # of connecting, and of each answer of the mail server
WRONG_EMAIL = "is not console:, smtp://user:password@host:587 or smtps://user:password@host:465"


def email_settings(url: str) -> dict[str, Any]:
    """Django's settings by name, of `EMAIL_URL`. A special character of user or password is written as %40 and the
    like. Raises ValueError, whose message does not hold the address."""
    if url in ("", "console:"):
        return {"EMAIL_BACKEND": EMAIL_BACKEND.format("console"), "EMAIL_TIMEOUT": EMAIL_TIMEOUT_S}
    try:
        parts = urlsplit(url)
        port = parts.port or EMAIL_PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise ValueError(WRONG_EMAIL) from None
    if not parts.hostname:
        raise ValueError(WRONG_EMAIL)
    return {
        "EMAIL_BACKEND": EMAIL_BACKEND.format("smtp"),
        "EMAIL_TIMEOUT": EMAIL_TIMEOUT_S,
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and parts.query != "tls=0",
    }


def uploads_storage(site: SiteSettings) -> dict[str, Any]:
    """Django's storage of uploaded files, as `STORAGES` has it. Raises SettingsError where a package is missing."""
    if not site.uploads:
        return {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise SettingsError(
            "RAGSITE_UPLOADS: a bucket takes packages of its own: pip install -e '.[s3]'"
        )
    place = urlsplit(site.uploads)
    options = {
        "bucket_name": place.netloc,
        "location": place.path.strip("/"),
        "endpoint_url": site.uploads_endpoint or None,
        "region_name": site.uploads_region or None,
        "access_key": site.uploads_key_id or None,
        "secret_key": site.uploads_key or None,
    }
    return {"BACKEND": "ragsite.core.s3_uploads.S3Uploads", "OPTIONS": options}


# Django compares whole origins: one without its scheme would never be met, and say nothing.
Origin = Annotated[str, Field(pattern=r"^https?://[^/\s?#@]+$")]


class SiteSettings(Group):
    """The web server, its database and broker, and who may reach it. Times are shown in the zone of `TZ`, as for any
    program."""

    env_prefix = "RAGSITE_"

    data_dir: str = ""
    """Folder of all embedded state: SQLite file, Milvus Lite data, uploads, broker files, logs; empty: `var` beside
    manage.py."""
    host: str = "127.0.0.1"
    """Where the web server listens."""
    port: int = Field(8000, gt=0, lt=65536)
    """Port of the web server."""
    admin_password: str = Field("", repr=False)
    """Password of the user `admin` made at the first run; empty: generated and printed once."""
    sample_data: bool = True
    """0: the sample documents are not loaded."""
    signup: Literal["1", "0", "oidc"] = "1"
    """0: only an admin makes accounts; oidc: they are made by signing in with the provider alone."""
    oidc: Annotated[Oidc | None, BeforeValidator(_pairs)] = Field(None, repr=False)
    """A provider of OpenID Connect to sign in with: `issuer=https://id.example.org, client=ragsite, secret=…`, and, if
    wanted, `groups=` with the name of the claim that holds a person's groups, and `name=` for the button. A comma in a
    value is written as %2C."""
    oidc_groups: Annotated[dict[str, str], BeforeValidator(_pairs)] = {}
    """What the provider's groups are on this site: `it=Administrators, library=Reviewers`; set at each sign-in."""
    share_links: bool = False
    """1: conversations may be shared by a secret link, which anybody who has it can read, without an account."""
    trusted_origins: Annotated[list[Origin], BeforeValidator(_split)] = []
    """How people reach the site, with commas, such as https://rag.example.org or http://10.0.0.5:8000; links in e-mails
    begin with the first. With one of https:// cookies are for HTTPS alone, and the proxy's `X-Forwarded-Proto` is
    believed."""
    trusted_proxies: Annotated[list[IPvAnyNetwork], BeforeValidator(_split)] = []
    """Addresses and networks of proxies whose X-Forwarded-For and -Proto are believed, with commas."""
    inner_hosts: Annotated[
        list[Annotated[str, StringConstraints(to_lower=True)]], BeforeValidator(_split)
    ] = []
    """Hosts, addresses and networks inside that sources and webhooks may reach, with commas: wiki.example.org,
    10.0.0.7; none else that leads inwards is called."""
    source_folders: Annotated[list[str], BeforeValidator(_split)] = []
    """Folders of the workers' machines, with commas, below which staff may name sources that are kept in step."""
    secret_key: str = Field("", repr=False)
    """Signs cookies and encrypts stored credentials; several machines need the same. Empty: made once and kept in the
    data folder."""
    uploads: str = Field("", pattern=r"^(s3://[a-z0-9][a-z0-9.-]+[a-z0-9](/[^\s?#]*)?)?$")
    """Where uploaded files lie: `s3://bucket/prefix`, for S3 or a store that speaks its protocol (with the packages of
    `pip install -e '.[s3]'`); empty: the folder `uploads` of the data folder."""
    uploads_endpoint: Address = Field("", repr=False, validation_alias="AWS_ENDPOINT_URL_S3")
    """With a bucket: the store's address, such as http://minio:9000; empty: Amazon's."""
    uploads_region: str = Field("", validation_alias="AWS_DEFAULT_REGION")
    """With a bucket: its region, where the store asks for one."""
    uploads_key_id: str = Field("", repr=False, validation_alias="AWS_ACCESS_KEY_ID")
    """With a bucket: the key to it; empty: as boto3 finds it (the machine's role, a profile)."""
    uploads_key: str = Field("", repr=False, validation_alias="AWS_SECRET_ACCESS_KEY")
    """The key's secret part."""
    database_url: str = Field("", repr=False, validation_alias="DATABASE_URL")
    """`postgresql://user:password@host/name`; empty: SQLite in the data folder."""
    database_connections: Annotated[int, Field(ge=2, le=1000)] = 10
    """Connections to PostgreSQL that a web process keeps at most; its answers share them. Each process of a worker
    has one or two more."""
    redis_url: str = Field(
        "", pattern=r"^(rediss?://.+)?$", repr=False, validation_alias="REDIS_URL"
    )
    """Channel layer, cache and Celery broker; empty: in this process, and a broker of files."""
    drain_s: Annotated[float, Field(ge=0, le=3600)] = 120.0
    """Seconds that a web process gives the answers that it is writing once it receives SIGTERM. Another process
    continues what is left. `make run`, which has one web process, gives none."""
    log_format: Literal["text", "json"] = "text"
    """Lines of the log: for people, or a JSON object each, with the ids of the request and of the answer."""
    worker_metrics_port: Annotated[int, Field(ge=0, lt=65536)] = 0
    """Port at which a Celery worker tells Prometheus what its processes count; 0: none. Each worker of a machine needs
    its own, so not for `make run`. Whoever reaches it reads it: keep it inside."""
    email_url: str = Field("", repr=False, validation_alias="EMAIL_URL")
    """`smtp://user:password@host:587` (STARTTLS; with `?tls=0` none) or `smtps://user:password@host:465`; empty:
    e-mails are written to the log of the worker."""
    email_from: str = "Ragsite <ragsite@localhost>"
    """The sender of e-mails, such as Ragsite <no-reply@example.org>."""

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

    @field_validator("email_url")
    @classmethod
    def _is_an_email_address(cls, url: str) -> str:
        email_settings(url)
        return url
