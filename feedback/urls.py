from django.urls import URLPattern, URLResolver, path

from feedback.api import MessageRatingApi, SourceRatingApi

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/messages/<uuid:message_id>/rating", MessageRatingApi.as_view(), name="message-rating"),
    path("api/messages/<uuid:message_id>/sources/<int:marker>/rating", SourceRatingApi.as_view(), name="source-rating"),
]
