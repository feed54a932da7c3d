"""The WebSocket's addresses."""

from django.urls import URLPattern, path

from chat.consumers import ChatConsumer

websocket_urlpatterns: list[URLPattern] = [
    path("ws/chat/", ChatConsumer.as_asgi()),
    path("ws/chat/<uuid:session_id>/", ChatConsumer.as_asgi()),
]
