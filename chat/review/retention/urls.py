from django.urls import URLPattern, URLResolver, path

from chat.review.retention import pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/retention/", pages.retention_page, name="review_retention"),
]
