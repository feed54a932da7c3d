from django.urls import URLPattern, URLResolver, path

from chat.review import api, pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/", pages.queue_page, name="review"),
    path("review/answers/<uuid:message_id>/", pages.answer_page, name="review_answer"),
    path("review/log/", pages.log_page, name="review_log"),
    path("api/review/answers", api.AnswersApi.as_view(), name="api-review-answers"),
    path("api/review/answers/mark", api.AnswersMarkApi.as_view(), name="api-review-mark"),
    path("api/review/answers/<uuid:message_id>", api.AnswerApi.as_view(), name="api-review-answer"),
    path("api/review/export", api.ExportApi.as_view(), name="api-review-export"),
    path("api/review/views", api.SavedViewsApi.as_view(), name="api-review-views"),
    path("api/review/views/<uuid:view_id>", api.SavedViewApi.as_view(), name="api-review-view"),
]
