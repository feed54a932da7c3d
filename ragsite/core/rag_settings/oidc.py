"""`RAGSITE_OIDC`: the provider of OpenID Connect that people sign in with."""

from __future__ import annotations

from typing import Any, Self
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragsite.core.rag_settings.fields import is_address

WRONG = "is not issuer=https://id.example.org, client=…, secret=…"


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
        pairs = (part.strip().partition("=") for part in text.split(","))
        try:
            provider = cls(**{name.strip(): unquote(value.strip()) for name, _, value in pairs})
        except ValidationError:
            raise ValueError(WRONG) from None
        if not is_address(provider.issuer):
            raise ValueError(WRONG)
        return provider

    def as_app(self) -> dict[str, Any]:
        """As allauth has it."""
        issuer = {"server_url": self.issuer.rstrip("/")}
        return {
            "provider_id": "oidc",
            "name": self.name,
            "client_id": self.client,
            "secret": self.secret,
            "settings": issuer,
        }
