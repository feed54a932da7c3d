from django.urls import URLPattern, URLResolver, include, path

from feedback.desk import (
    boost_pages,
    curated_pages,
    gap_pages,
    golden_pages,
    revision_pages,
    transfer_api,
    transfer_pages,
)
from feedback.desk.gap_answer_page import gap_answer
from feedback.ratings.api import MessageRatingApi, SourceRatingApi
from feedback.requests import api as requests_api
from feedback.requests import pages as request_pages

messages_api = [
    path("rating", MessageRatingApi.as_view(), name="message-rating"),
    path("sources/<int:marker>/rating", SourceRatingApi.as_view(), name="source-rating"),
    path("ask-owner", requests_api.AskOwnerApi.as_view(), name="message-ask-owner"),
]
request_api = [
    path("reply", requests_api.RequestReplyApi.as_view(), name="api-request-reply"),
    path("decline", requests_api.RequestDeclineApi.as_view(), name="api-request-decline"),
]
request = [
    path("", request_pages.request_page, name="request"),
    path("reply/", request_pages.request_reply, name="request_reply"),
    path("decline/", request_pages.request_refuse, name="request_decline"),
    path("document/", request_pages.request_document, name="request_document"),
    path("withdraw/", request_pages.request_take_back, name="request_withdraw"),
]
gaps = [
    path("", gap_pages.gaps_list, name="review_gaps"),
    path("<int:gap_id>/", gap_pages.gap_page, name="review_gap"),
    path("<int:gap_id>/change/", gap_pages.gap_change, name="review_gap_change"),
    path("<int:gap_id>/document/", gap_pages.gap_document, name="review_gap_document"),
    path("<int:gap_id>/answer/", gap_answer, name="review_gap_answer"),
    path("<int:gap_id>/ask/", gap_pages.gap_again, name="review_gap_ask"),
    path(
        "<int:gap_id>/replies/<uuid:request_id>/dismiss/",
        gap_pages.gap_reply_dismiss,
        name="review_gap_reply_dismiss",
    ),
    path(
        "<int:gap_id>/replies/<uuid:request_id>/restore/",
        gap_pages.gap_reply_restore,
        name="review_gap_reply_restore",
    ),
]
golden = [
    path("", golden_pages.golden_page, name="review_golden"),
    path("new/", golden_pages.golden_new, name="review_golden_new"),
    path("<uuid:question_id>/undo/", golden_pages.golden_undo, name="review_golden_undo"),
]
ratings = [
    path("", revision_pages.revisions_list, name="review_revisions"),
    path("round/", revision_pages.round_decide, name="review_round"),
    path("<int:number>/", revision_pages.revision_page, name="review_revision"),
    path("<int:number>/decide/", revision_pages.revision_decide, name="review_revision_decide"),
]
boosts = [
    path("", boost_pages.boosts_list, name="review_boosts"),
    path("new/", boost_pages.boost_new, name="review_boost_new"),
    path("<uuid:boost_id>/end/", boost_pages.boost_end, name="review_boost_end"),
]
curated = [
    path("", curated_pages.curated_list, name="review_curated"),
    path("new/", curated_pages.curated_new, name="review_curated_new"),
    path(
        "<uuid:curated_id>/withdraw/",
        curated_pages.curated_withdraw,
        name="review_curated_withdraw",
    ),
]
imports = [
    path("", transfer_pages.import_new, name="review_import_new"),
    path("export/", transfer_pages.export_file, name="review_curation_export"),
    path("<uuid:import_id>/", transfer_pages.import_page, name="review_import"),
    path("<uuid:import_id>/errors/", transfer_pages.import_errors, name="review_import_errors"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/messages/<uuid:message_id>/", include(messages_api)),
    path("api/requests", requests_api.RequestsApi.as_view(), name="api-requests"),
    path("api/requests/<uuid:request_id>", requests_api.RequestApi.as_view(), name="api-request"),
    path("api/requests/<uuid:request_id>/", include(request_api)),
    path("requests/", request_pages.requests_page, name="requests"),
    path("requests/<uuid:request_id>/", include(request)),
    path("review/gaps/", include(gaps)),
    path("review/golden/", include(golden)),
    path("review/ratings/", include(ratings)),
    path("review/boosts/", include(boosts)),
    path("review/curated/", include(curated)),
    path("review/imports/", include(imports)),
    path("api/review/curated", transfer_api.CuratedFilesApi.as_view(), name="api-review-curated"),
    path("api/review/golden", transfer_api.GoldenFilesApi.as_view(), name="api-review-golden"),
    path(
        "api/review/imports/<uuid:import_id>",
        transfer_api.CurationImportApi.as_view(),
        name="api-review-import",
    ),
    path(
        "api/review/imports/<uuid:import_id>/errors",
        transfer_api.ImportErrorsApi.as_view(),
        name="api-review-import-errors",
    ),
]
