"""Django settings. Everything comes from the environment and from a `.env` file beside manage.py.

Importing this module opens no connection and writes no file.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from dotenv import dotenv_values
from pythonjsonlogger.core import RESERVED_ATTRS

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.redis_connection import lasting_connection
from ragsite.core.runtime_settings import constance_settings
from ragsite.core.settings_group import SettingsError, refuse_unknown
from ragsite.core.site_settings import SiteSettings, email_settings, uploads_storage
from ragsite.web.static_headers import add_static_headers

BASE_DIR = Path(__file__).resolve().parent.parent
TESTING = "pytest" in sys.modules
_DOTENV = {} if TESTING else dotenv_values(BASE_DIR / ".env")  # tests must not read the site's own
ENVIRON: dict[str, str] = {
    **{key: value for key, value in _DOTENV.items() if value is not None},
    **os.environ,
}

refuse_unknown(ENVIRON, (SiteSettings, *GROUPS.values()))
SITE = SiteSettings.from_env(ENVIRON)


def _secret_key(data_dir: Path) -> str:
    """RAGSITE_SECRET_KEY, else the file that `manage.py up` makes at the first run, else one for this process."""
    if SITE.secret_key:
        return SITE.secret_key
    try:
        return (data_dir / "secret_key").read_text().strip() or secrets.token_urlsafe(50)
    except OSError:
        return secrets.token_urlsafe(50)


def _database(default: str) -> dict[str, Any]:
    """The value may hold a password, so that it is not repeated in the error."""
    try:
        config = dj_database_url.parse(
            SITE.database_url or default, conn_max_age=0, conn_health_checks=True
        )
    except ValueError:
        config = {}
    if str(config.get("ENGINE")).rpartition(".")[2] not in ("postgresql", "sqlite3"):
        raise SettingsError(
            "DATABASE_URL is neither postgresql://user:password@host/name nor sqlite:///path"
        )
    return dict(config)


def _static_version(folder: Path) -> str:
    """Changes with each of our files, and with the libraries that bring files of their own."""
    bringing = ("django", "django-celery-beat", "django-constance", "drf-spectacular-sidecar")
    digest = hashlib.sha256(repr([version(name) for name in bringing]).encode())
    for path in sorted(folder.rglob("*.*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def redis_channel_layer(url: str) -> dict[str, Any]:
    """Publish and subscribe: after a restart of Redis a process subscribes again by itself."""
    # With a time limit redis-py sends under `asyncio.wait_for`, which on Python 3.11 may lose a cancellation for good.
    host = {"address": url, "socket_timeout": None, **lasting_connection()}
    return {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [host]}}


# ------------------------------------------------------------------------------------------------ Ragsite's own
DATA_DIR = Path(SITE.data_dir or BASE_DIR / "var").expanduser().resolve()
SIGNUP = SITE.signup
SHARE_LINKS = SITE.share_links
TRUSTED_PROXIES = [str(network) for network in SITE.trusted_proxies]
REDIS_URL = SITE.redis_url
RAG = OPERATORS_RAG = RagSettings.from_env(ENVIRON, data_dir=str(DATA_DIR))

# What superusers may change while the site runs (ragsite/runtime/live_settings.py).
CONSTANCE_BACKEND = "constance.backends.database.DatabaseBackend"
CONSTANCE_CONFIG, CONSTANCE_ADDITIONAL_FIELDS = constance_settings(RAG)

# ------------------------------------------------------------------------------------------------ Django
SECRET_KEY = _secret_key(DATA_DIR)
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *SITE.hosts]
if SITE.host not in ("0.0.0.0", "::"):  # noqa: S104
    ALLOWED_HOSTS.append(SITE.host)
CSRF_TRUSTED_ORIGINS = SITE.trusted_origins
ROOT_URLCONF = "ragsite.urls"
ASGI_APPLICATION = "ragsite.asgi.application"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "csp",
    "ragsite.apps.LiveSettingsConfig",
    "django_celery_beat",
    "django_prometheus",
    "auditlog",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "ragsite",
    "retrieval",
    "chat",
    "feedback",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    # Scripts, styles and fonts need no policies, of which each of some fifty files would bear a copy.
    "servestatic.middleware.ServeStaticMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "ragsite.web.acting_request.remember_request",
    "ragsite.web.odd_text.RefuseNul",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "ragsite.accounts.pages.doors",
            ]
        },
    }
]

DATABASES = {"default": _database(f"sqlite:///{DATA_DIR / 'db.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Writers queue for the lock instead of failing when a read turns into a write (BEGIN IMMEDIATE);
    # readers go on meanwhile (WAL).
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
    }
else:
    # A server that is away is noticed in seconds; what the address says itself comes first.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        **DATABASES["default"].get("OPTIONS", {}),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
if TESTING:  # tests make hundreds of users, and the real hasher takes half a second for each
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
PASSWORD_RESET_TIMEOUT = 2 * 3600  # seconds for which a link to choose a new password is good
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/accounts/login/"

LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "ragsite" / "locale"]
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文"), ("zh-hant", "繁體中文")]
FORMAT_MODULE_PATH = "ragsite.formats"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
TIME_ZONE = ENVIRON.get("TZ") or "UTC"

STATICFILES_DIRS = [BASE_DIR / "ragsite" / "web" / "static"]
# Browsers keep files for a year: their addresses change with them. Tests read files where they lie.
STATIC_VERSION = "" if TESTING else f"{_static_version(STATICFILES_DIRS[0])}/"
STATIC_URL = f"/static/{STATIC_VERSION}"
_COLLECTED = (
    BASE_DIR / "staticfiles" / "root"
)  # served at /: what `collectstatic` has made, compressed
STATIC_ROOT = _COLLECTED / STATIC_URL.strip("/")
SERVESTATIC_ROOT = _COLLECTED if _COLLECTED.is_dir() and not TESTING else None
SERVESTATIC_USE_FINDERS = True  # what was not collected
SERVESTATIC_MAX_AGE = 365 * 24 * 3600
SERVESTATIC_MINIFY = True
SERVESTATIC_ALLOW_ALL_ORIGINS = False
SERVESTATIC_ADD_HEADERS_FUNCTION = add_static_headers
STORAGES = {
    "default": uploads_storage(SITE),
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedStaticFilesStorage"},
}
MEDIA_ROOT = DATA_DIR / "uploads"

DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024  # bodies without files
DATA_UPLOAD_MAX_NUMBER_FILES = (
    RAG.ingest.max_files_per_upload + 1
)  # one more, so that our own error answers

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SITE.https
# No inline script, nothing from elsewhere.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
if SITE.https:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CHANNEL_LAYERS: dict[str, dict[str, Any]]
CACHES: dict[str, dict[str, Any]]
if REDIS_URL:
    CHANNEL_LAYERS = {"default": redis_channel_layer(REDIS_URL)}
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
        },
        "searches": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "searches",
        },
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "OPTIONS": {"MAX_ENTRIES": 20_000},
        },
        "searches": {  # some 30 KiB each
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": "searches",
            "OPTIONS": {"MAX_ENTRIES": 500},
        },
    }

# ------------------------------------------------------------------------------------------------ log of changes
AUDITLOG_CID_GETTER = "ragsite.administration.audit.request_id"
AUDITLOG_DISABLE_ON_RAW_SAVE = True  # a site that is carried over
AUDITLOG_DISABLE_REMOTE_ADDR = True
AUDITLOG_USE_FK_STRING_REPRESENTATION = True

# ------------------------------------------------------------------------------------------------ e-mail
vars().update(email_settings(SITE.email_url))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = SITE.email_from

# ------------------------------------------------------------------------------------------------ accounts
SENDS_EMAIL = SITE.email_url not in ("", "console:")
LOGIN_WINDOW_S = 300  # over which wrong passwords are counted
ACCOUNT_ADAPTER = "ragsite.accounts.adapters.AccountAdapter"
ACCOUNT_FORMS = {"login": "ragsite.accounts.forms.SignInForm"}
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_CHANGE_EMAIL = True  # one address each
# Where nothing is sent nothing can be confirmed.
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if SENDS_EMAIL else "none"
ACCOUNT_SIGNUP_FIELDS = [
    "username*",
    "email*" if SENDS_EMAIL else "email",
    "password1*",
    "password2*",
]
ACCOUNT_PREVENT_ENUMERATION = "strict"
ACCOUNT_EMAIL_NOTIFICATIONS = SENDS_EMAIL
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = SENDS_EMAIL
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 1
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_RATE_LIMITS = {
    "login": "120/m/ip",
    "login_failed": f"30/{LOGIN_WINDOW_S}s/ip,10/{LOGIN_WINDOW_S}s/key",
    "signup": "300/h/ip",
    "reset_password": "20/h/ip,5/h/key",
    "confirm_email": "5/10m/key",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = (
    not SITE.https
)  # browsers themselves allow it on this machine alone
MFA_ALLOW_UNVERIFIED_EMAIL = not SENDS_EMAIL
MFA_TOTP_ISSUER = "Ragsite"
MFA_TOTP_TOLERANCE = 1  # clocks that differ by half a minute
OIDC = SITE.oidc
OIDC_GROUPS = SITE.oidc_groups
SOCIALACCOUNT_ADAPTER = "ragsite.accounts.adapters.SocialAccountAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [OIDC.as_app()] if OIDC else []}
}

# ------------------------------------------------------------------------------------------------ API
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "ragsite.accounts.auth.TokenOrBearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "ragsite.accounts.auth.KeyHasScope",
    ],
    "DEFAULT_PARSER_CLASSES": [
        "ragsite.core.api.json_parser.SafeJSONParser",  # the one reader of bodies; only uploads are forms
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "ragsite.core.api.pagination.Pages",
    "DEFAULT_SCHEMA_CLASS": "ragsite.core.api.schema.ApiSchema",
    "EXCEPTION_HANDLER": "ragsite.core.api.error_responses.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Ragsite",
    "DESCRIPTION": "Question answering over your own documents: chat, documents, search, feedback, operations.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/",  # names of operations begin behind it
    "COMPONENT_SPLIT_REQUEST": True,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {  # else several fields named alike get names made of a hash
        "DocumentStatusEnum": "retrieval.models.Document.Status",
        "SourceKindEnum": "retrieval.models.SyncSource.Kind",
        "NotificationKindEnum": "ragsite.models.Notification.Kind",
        "RunStatusEnum": "chat.models.Replay.Status",
        "GapStateEnum": "feedback.models.KnowledgeGap.State",
        "GapRequestStateEnum": "feedback.models.GapRequest.State",
        "SentToEnum": "feedback.models.GapRequest.To",
        "ReviewStateEnum": "chat.models.AnswerReview.State",
    },
    "SERVE_PERMISSIONS": [
        "rest_framework.permissions.AllowAny"
    ],  # public: it describes the program and holds no data
}

# ------------------------------------------------------------------------------------------------ Celery
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
else:
    # Messages are files: they survive a restart and need no server (ragsite/runtime/file_broker.py).
    CELERY_BROKER_TRANSPORT = "ragsite.runtime.file_broker:Transport"
    CELERY_BROKER_URL = "files://localhost"  # kombu warns without a host; there is none
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker" / "queue"),
        "data_folder_out": str(DATA_DIR / "broker" / "queue"),
        "control_folder": str(DATA_DIR / "broker" / "control"),
        "polling_interval": 0.2,
    }
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "celery"
# A source's server decides how long a run takes: documents of uploads must not wait behind it.
CELERY_TASK_ROUTES = {"retrieval.tasks.sync_source_run": {"queue": "sources"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_TIMEZONE = TIME_ZONE


# ------------------------------------------------------------------------------------------------ logging
def _without_traceback(refusal: logging.LogRecord) -> bool:
    """What was refused is no fault of the code; tracebacks of it hide those of faults."""
    if refusal.levelno < logging.ERROR:
        refusal.exc_info = None
    return True


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "fmt": "%(levelname)s %(name)s %(message)s",
            "rename_fields": {"levelname": "level", "name": "logger"},
            "reserved_attrs": [*RESERVED_ATTRS, "color_message"],  # uvicorn's, for terminals
            "timestamp": True,
        },
    },
    "filters": {
        "refusals": {"()": "django.utils.log.CallbackFilter", "callback": _without_traceback},
        "ids": {"()": "ragsite.core.log_ids.WithIds"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": SITE.log_format,
            "filters": ["ids"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django.request": {"filters": ["refusals"]},
        # pymilvus logs a traceback for every failed call, also where the caller handles it
        "pymilvus": {"level": "CRITICAL"},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "mcp": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "jieba": {"level": "WARNING"},
        "constance": {"level": "WARNING"},
        "dulwich": {"level": "WARNING"},
        "trafilatura": {
            "level": "CRITICAL"
        },  # pages without a main text are reported where they are read
    },
}
if SITE.log_format == "json":  # the server's own lines, too, which have handlers of their own
    for name in ("uvicorn", "uvicorn.access"):
        LOGGING["loggers"][name] = {"handlers": [], "level": "INFO", "propagate": True}
