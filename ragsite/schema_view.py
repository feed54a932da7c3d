"""`GET /api/schema`."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request


@cache
def api_schema() -> dict[str, Any]:
    """The whole schema, built once per process: it takes most of a second and depends on the code alone."""
    with translation.override("en"):
        schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return schema


class SchemaView(SpectacularAPIView):
    """The schema as YAML or JSON; each is rendered once per process."""

    _rendered: dict[str, str | bytes] = {}

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer, media_type = self.perform_content_negotiation(request, force=True)
        if media_type not in self._rendered:
            self._rendered[media_type] = renderer.render(api_schema(), media_type, {})
        disposition = f'inline; filename="ragsite.{renderer.format}"'
        return HttpResponse(
            self._rendered[media_type], media_type, headers={"Content-Disposition": disposition}
        )
