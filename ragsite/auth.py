"""Token authentication that takes `Authorization: Token …` and `Authorization: Bearer …` alike."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import TokenAuthentication, get_authorization_header
from rest_framework.request import Request


class TokenOrBearerAuthentication(TokenAuthentication):
    keyword = "Token"

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        header = get_authorization_header(request)
        if header.lower().startswith(b"bearer "):
            try:
                return self.authenticate_credentials(header[7:].strip().decode())
            except UnicodeDecodeError:
                return self.authenticate_credentials("")
        return super().authenticate(request)
