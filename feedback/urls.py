from django.urls import URLPattern, URLResolver, path

from feedback.desk import (
    boost_pages,
    curated_pages,
    gap_pages,
    golden_pages,
    revision_pages,
    transfer_api,
    transfer_pages,
)
from feedback.ratings.api import MessageRatingApi, SourceRatingApi
from feedback.requests import api as requests_api
from feedback.requests import pages as request_pages

urlpatterns: list[URLPattern | URLResolver] = [
    path(
        "api/messages/<uuid:message_id>/rating", MessageRatingApi.as_view(), name="message-rating"
    ),
    path(
        "api/messages/<uuid:message_id>/sources/<int:marker>/rating",
        SourceRatingApi.as_view(),
        name="source-rating",
    ),
    path(
        "api/messages/<uuid:message_id>/ask-owner",
        requests_api.AskOwnerApi.as_view(),
        name="message-ask-owner",
    ),
    path("api/requests", requests_api.RequestsApi.as_view(), name="api-requests"),
    path("api/requests/<uuid:request_id>", requests_api.RequestApi.as_view(), name="api-request"),
    path(
        "api/requests/<uuid:request_id>/reply",
        requests_api.RequestReplyApi.as_view(),
        name="api-request-reply",
    ),
    path(
        "api/requests/<uuid:request_id>/decline",
        requests_api.RequestDeclineApi.as_view(),
        name="api-request-decline",
    ),
    path("requests/", request_pages.requests_page, name="requests"),
    path("requests/<uuid:request_id>/", request_pages.request_page, name="request"),
    path("requests/<uuid:request_id>/reply/", request_pages.request_reply, name="request_reply"),
    path(
        "requests/<uuid:request_id>/decline/", request_pages.request_refuse, name="request_decline"
    ),
    path(
        "requests/<uuid:request_id>/document/",
        request_pages.request_document,
        name="request_document",
    ),
    path(
        "requests/<uuid:request_id>/withdraw/",
        request_pages.request_take_back,
        name="request_withdraw",
    ),
    path("review/gaps/", gap_pages.gaps_list, name="review_gaps"),
    path("review/gaps/<int:gap_id>/", gap_pages.gap_page, name="review_gap"),
    path("review/gaps/<int:gap_id>/change/", gap_pages.gap_change, name="review_gap_change"),
    path("review/gaps/<int:gap_id>/document/", gap_pages.gap_document, name="review_gap_document"),
    path("review/gaps/<int:gap_id>/ask/", gap_pages.gap_again, name="review_gap_ask"),
    path("review/golden/", golden_pages.golden_page, name="review_golden"),
    path("review/golden/new/", golden_pages.golden_new, name="review_golden_new"),
    path(
        "review/golden/<uuid:question_id>/undo/",
        golden_pages.golden_undo,
        name="review_golden_undo",
    ),
    path("review/ratings/", revision_pages.revisions_list, name="review_revisions"),
    path("review/ratings/round/", revision_pages.round_decide, name="review_round"),
    path("review/ratings/<int:number>/", revision_pages.revision_page, name="review_revision"),
    path(
        "review/ratings/<int:number>/decide/",
        revision_pages.revision_decide,
        name="review_revision_decide",
    ),
    path("review/boosts/", boost_pages.boosts_list, name="review_boosts"),
    path("review/boosts/new/", boost_pages.boost_new, name="review_boost_new"),
    path("review/boosts/<uuid:boost_id>/end/", boost_pages.boost_end, name="review_boost_end"),
    path("review/curated/", curated_pages.curated_list, name="review_curated"),
    path("review/curated/new/", curated_pages.curated_new, name="review_curated_new"),
    path(
        "review/curated/<uuid:curated_id>/withdraw/",
        curated_pages.curated_withdraw,
        name="review_curated_withdraw",
    ),
    path("review/imports/", transfer_pages.import_new, name="review_import_new"),
    path("review/imports/export/", transfer_pages.export_file, name="review_curation_export"),
    path("review/imports/<uuid:import_id>/", transfer_pages.import_page, name="review_import"),
    path(
        "review/imports/<uuid:import_id>/errors/",
        transfer_pages.import_errors,
        name="review_import_errors",
    ),
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
