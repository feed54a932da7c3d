"""The ASGI application: HTTP by Django, WebSocket by Channels, and the start and end of a web process."""

import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
django.setup()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: E402

from chat.api.draining import RefusesWhileDraining  # noqa: E402
from chat.api.ws_auth import TokenOrCookieAuth  # noqa: E402
from chat.lifespan import lifespan  # noqa: E402
from chat.mcp.door import application as mcp  # noqa: E402
from chat.routing import websocket_urlpatterns  # noqa: E402
from ragsite import urls  # noqa: E402, F401  -- all pages: else the first request imports them, on the loop
from ragsite.accounts.auth import is_signed_in  # noqa: E402
from ragsite.accounts.credentials import ClosesWhenSignedOut  # noqa: E402
from ragsite.core.database import pool_connections  # noqa: E402
from ragsite.operations import site_metrics, telemetry  # noqa: E402
from ragsite.web.handler import Handler  # noqa: E402
from ragsite.web.request_ids import RequestIds  # noqa: E402

pool_connections(at_most=settings.SITE.database_connections)
site_metrics.connect()
telemetry.start("web")  # before the handler takes up the middleware
site = Handler(is_signed_in)


async def http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await (mcp if scope["path"].rstrip("/") == "/mcp" else site)(scope, receive, send)


routes = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": RefusesWhileDraining(
            TokenOrCookieAuth(ClosesWhenSignedOut(URLRouter(websocket_urlpatterns)))
        ),
        "lifespan": lifespan,
    }
)
# Here, not by the server's own options: however it is started, nobody else may say where a request comes from.
application = ProxyHeadersMiddleware(RequestIds(routes), trusted_hosts=settings.TRUSTED_PROXIES)
