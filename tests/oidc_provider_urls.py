"""Addresses of the provider of the tests, and its claims."""

from __future__ import annotations

from typing import Any

from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from django.urls import include, path

from tests.oidc_provider import PEOPLE


class Adapter(DefaultOIDCAdapter):
    def get_claims(
        self, purpose: Any, user: Any, client: Any, scopes: Any, **kwargs: Any
    ) -> dict[str, Any]:
        claims = super().get_claims(purpose, user, client, scopes, **kwargs)
        person = PEOPLE[user.username]
        if "told" in person:
            claims |= {"email": person["email"], "email_verified": person["told"]}
        return claims | {"groups": person["groups"]}


urlpatterns = [path("accounts/", include("allauth.urls")), path("", include("allauth.idp.urls"))]
