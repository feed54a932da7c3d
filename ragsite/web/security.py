"""What one request adds to the Content-Security-Policy of the settings."""

from __future__ import annotations

from csp.constants import UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase

EXCEPTIONS = {
    # Swagger UI writes style attributes while it draws; its scripts are files of ours.
    "/api/docs": {"style-src": [UNSAFE_INLINE]},
}


class ContentSecurityPolicyMiddleware(CSPMiddleware):
    """django-csp's, with the site's own socket and the pages that need exceptions."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        parts.update = {**(parts.update or {}), "connect-src": _own_socket(request)}
        for prefix, sources in EXCEPTIONS.items():
            if request.path.startswith(prefix):
                parts.update |= sources
        return parts


def _own_socket(request: HttpRequest) -> list[str]:
    """The site's own WebSocket address: not every browser counts it as 'self'."""
    try:
        return [f"{'wss' if request.is_secure() else 'ws'}://{request.get_host()}"]
    except DisallowedHost:
        return []
