from django.urls import URLPattern, URLResolver, path

from chat.review.replay import replay_api as api
from chat.review.replay import replay_pages as pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/replays/", pages.replays_page, name="review_replays"),
    path("review/replays/new/", pages.replay_new_page, name="review_replay_new"),
    path("review/replays/<uuid:replay_id>/", pages.replay_page, name="review_replay"),
    path("review/replays/batches/<uuid:batch_id>/", pages.batch_page, name="review_replay_batch"),
    path("api/review/answers/<uuid:message_id>/replay", api.AnswerReplayApi.as_view(), name="api-review-replay"),
    path("api/review/replays", api.ReplaysApi.as_view(), name="api-review-replays"),
    path("api/review/replays/<uuid:replay_id>", api.ReplayApi.as_view(), name="api-review-replay-get"),
    path("api/review/replays/<uuid:replay_id>/cancel", api.ReplayCancelApi.as_view(), name="api-review-replay-cancel"),
    path("api/review/replay-batches", api.BatchesApi.as_view(), name="api-review-batches"),
    path("api/review/replay-batches/<uuid:batch_id>", api.BatchApi.as_view(), name="api-review-batch"),
    path(
        "api/review/replay-batches/<uuid:batch_id>/replays",
        api.BatchReplaysApi.as_view(),
        name="api-review-batch-replays",
    ),
    path(
        "api/review/replay-batches/<uuid:batch_id>/cancel", api.BatchCancelApi.as_view(), name="api-review-batch-cancel"
    ),
]
