from django.urls import URLPattern, URLResolver, path

from chat.review import ageing, api, pages
from chat.review.replay import views as replays
from chat.review.tokens_api import TokensApi

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/", pages.queue_page, name="review"),
    path("review/answers/<uuid:message_id>/", pages.answer_page, name="review_answer"),
    path("review/dashboard/", pages.dashboard_page, name="review_dashboard"),
    path("review/documents/", ageing.ageing_page, name="review_ageing"),
    path("review/log/", pages.log_page, name="review_log"),
    path("review/replays/", replays.replays_page, name="review_replays"),
    path("review/replays/new/", replays.replay_new_page, name="review_replay_new"),
    path("review/replays/<uuid:replay_id>/", replays.replay_page, name="review_replay"),
    path("api/review/documents", ageing.AgeingDocumentsApi.as_view(), name="api-review-documents"),
    path("api/review/answers", api.AnswersApi.as_view(), name="api-review-answers"),
    path("api/review/answers/<uuid:message_id>", api.AnswerApi.as_view(), name="api-review-answer"),
    path(
        "api/review/answers/<uuid:message_id>/replay",
        replays.AnswerReplayApi.as_view(),
        name="api-review-replay",
    ),
    path(
        "api/review/replays/<uuid:replay_id>",
        replays.ReplayApi.as_view(),
        name="api-review-replay-get",
    ),
    path("api/review/export", api.ExportApi.as_view(), name="api-review-export"),
    path("api/review/stats", api.StatsApi.as_view(), name="api-review-stats"),
    path("api/review/tokens", TokensApi.as_view(), name="api-review-tokens"),
    path("api/review/compare", api.CompareApi.as_view(), name="api-review-compare"),
]
