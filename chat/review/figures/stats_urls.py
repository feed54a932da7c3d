from django.urls import URLPattern, URLResolver, path

from chat.review.figures import experiment_api, experiment_pages, stats_api, stats_pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/dashboard/", stats_pages.dashboard_page, name="review_dashboard"),
    path("review/compare/", stats_pages.compare_page, name="review_compare"),
    path("review/experiments/", experiment_pages.experiments_page, name="review_experiments"),
    path("review/experiments/<uuid:experiment_id>/", experiment_pages.experiment_page, name="review_experiment"),
    path("api/review/stats", stats_api.StatsApi.as_view(), name="api-review-stats"),
    path("api/review/compare", stats_api.CompareApi.as_view(), name="api-review-compare"),
    path("api/review/gaps", stats_api.DeskGapsApi.as_view(), name="api-review-gaps"),
    path("api/review/experiments", experiment_api.ExperimentsApi.as_view(), name="api-review-experiments"),
    path(
        "api/review/experiments/<uuid:experiment_id>",
        experiment_api.ExperimentApi.as_view(),
        name="api-review-experiment",
    ),
    path(
        "api/review/experiments/<uuid:experiment_id>/start",
        experiment_api.ExperimentStartApi.as_view(),
        name="api-review-experiment-start",
    ),
    path(
        "api/review/experiments/<uuid:experiment_id>/stop",
        experiment_api.ExperimentStopApi.as_view(),
        name="api-review-experiment-stop",
    ),
]
