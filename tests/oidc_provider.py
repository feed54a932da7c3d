"""A provider of OpenID Connect, allauth's, in a process of its own.

    python -m tests.oidc_provider PORT FOLDER ORDER CALLBACK…

People sign in with their name and `PASSWORD`; their `sub` is their place in PEOPLE, which ORDER `-1` counts from the
end; the claim `groups` holds what stands in `PEOPLE`, and `email_verified`
what is `told`, where something is.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

CLIENT, SECRET, PASSWORD = "ragsite", "a secret, of two words", "correct horse battery"
VALUE = f"issuer={{url}}, client={CLIENT}, secret={SECRET.replace(',', '%2C')}, groups=groups, name=Company"
PEOPLE: dict[str, dict[str, Any]] = {
    "mei": {"email": "mei@example.org", "verified": True, "groups": ["library", "everyone"]},
    "lin": {"email": "lin@example.org", "verified": True, "groups": ["everyone"]},
    "eve": {"email": "owner@example.org", "verified": False, "groups": []},
    "eva": {"email": "owner@example.org", "verified": False, "told": "false", "groups": []},
    "ada": {"email": "ada@example.org", "verified": True, "told": "true", "groups": "library"},
    "one": {"email": "one@example.org", "verified": True, "groups": 1},
    "odd": {
        "email": "odd@example.org",
        "verified": True,
        "groups": [["library"], {"name": "library"}, 1, None],
    },
}


@contextlib.contextmanager
def provider(port: int, *callbacks: str, order: int = 1) -> Iterator[str]:
    """Its address, once it answers."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "tests.oidc_provider",
            str(port),
            folder,
            str(order),
            *callbacks,
        ]
        process = subprocess.Popen(command, cwd=Path(__file__).parent.parent)
        url = f"http://localhost:{port}"
        try:
            for _ in range(300):
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"{url}/.well-known/openid-configuration").status_code == 200:
                        break
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait(10)


def main(port: int, folder: str, order: int, callbacks: list[str]) -> None:
    import django
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from django.conf import settings

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    settings.configure(
        SECRET_KEY="of the provider",
        ALLOWED_HOSTS=["localhost"],
        ROOT_URLCONF="tests.oidc_provider_urls",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/provider.sqlite3"}},
        INSTALLED_APPS=[
            "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
            "allauth", "allauth.account", "allauth.idp.oidc",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware", "allauth.account.middleware.AccountMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
        ACCOUNT_EMAIL_VERIFICATION="none",
        ACCOUNT_RATE_LIMITS=False,
        SESSION_COOKIE_NAME="provider_session",  # cookies do not know ports
        CSRF_COOKIE_NAME="provider_csrf",
        LANGUAGE_COOKIE_NAME="provider_language",
        IDP_OIDC_PRIVATE_KEY=pem,
        IDP_OIDC_ADAPTER="tests.oidc_provider_urls.Adapter",
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # quick
        USE_TZ=True,
    )  # fmt: skip
    django.setup()

    from allauth.account.models import EmailAddress
    from allauth.idp.oidc.models import Client
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.core.servers.basehttp import run
    from django.core.wsgi import get_wsgi_application

    call_command("migrate", verbosity=0)
    client = Client(id=CLIENT, name="Ragsite", secret=make_password(SECRET), skip_consent=True)
    client.scopes = "openid\nprofile\nemail"
    client.set_redirect_uris(callbacks)
    client.save()
    for name, told in list(PEOPLE.items())[::order]:
        user = User.objects.create_user(name, told["email"], PASSWORD)
        EmailAddress.objects.create(
            user=user, email=told["email"], verified=told["verified"], primary=True
        )
    run("localhost", port, get_wsgi_application(), threading=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
