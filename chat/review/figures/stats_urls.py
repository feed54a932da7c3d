from django.urls import URLPattern, URLResolver, path

from chat.review.figures import stats_api, stats_pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/dashboard/", stats_pages.dashboard_page, name="review_dashboard"),
    path("review/compare/", stats_pages.compare_page, name="review_compare"),
    path("api/review/stats", stats_api.StatsApi.as_view(), name="api-review-stats"),
    path("api/review/compare", stats_api.CompareApi.as_view(), name="api-review-compare"),
    path("api/review/gaps", stats_api.DeskGapsApi.as_view(), name="api-review-gaps"),
]
