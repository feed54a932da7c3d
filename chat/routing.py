"""The WebSocket's addresses."""

from channels.security.websocket import WebsocketDenier
from django.urls import URLPattern, path, re_path

from chat.api.consumers import ChatConsumer

websocket_urlpatterns: list[URLPattern] = [
    path("ws/chat/", ChatConsumer.as_asgi()),
    path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi()),
    re_path(
        "", WebsocketDenier.as_asgi()
    ),  # URLRouter raises for an address that it does not know: a 500
]
