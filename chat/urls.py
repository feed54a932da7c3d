from django.urls import URLPattern, URLResolver, include, path

from chat import assistant_pages, views
from chat.api.assistants import AssistantApi, AssistantsApi
from chat.api.attachments import AttachmentsApi
from chat.api.chat import (
    ChatApi,
    MessageApi,
    MessageContinueApi,
    MessageEditApi,
    MessageEventsApi,
    MessageRegenerateApi,
    MessageShowApi,
    MessageStopApi,
    MessageVersionsApi,
)
from chat.api.sessions import (
    FolderListApi,
    SessionApi,
    SessionExportApi,
    SessionListApi,
    SessionMessagesApi,
    SessionShareApi,
)
from chat.api.usage import UsageApi
from chat.compat.rag import RagQueryApi, RagQueryStreamApi
from chat.compat.self_corrective import SelfCorrectiveApi
from chat.openai.api import ChatCompletionsApi, ModelApi, ModelsApi

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("chat.review.urls")),
    path("", views.chat_page, name="chat"),
    path("chat/<uuid:session_id>/", views.chat_page, name="chat_session"),
    path("shared/<uuid:share_id>/", views.shared_page, name="shared"),
    path("shared/<uuid:share_id>/<str:signature>/", views.shared_link_page, name="shared_link"),
    path("assistants/", assistant_pages.assistants_page, name="assistants"),
    path("assistants/new/", assistant_pages.assistant_new, name="assistant_new"),
    path("assistants/<uuid:assistant_id>/", assistant_pages.assistant_page, name="assistant"),
    path(
        "assistants/<uuid:assistant_id>/sharing/",
        assistant_pages.assistant_sharing,
        name="assistant_sharing",
    ),
    path(
        "assistants/<uuid:assistant_id>/copy/",
        assistant_pages.assistant_copy,
        name="assistant_copy",
    ),
    path(
        "assistants/<uuid:assistant_id>/delete/",
        assistant_pages.assistant_delete,
        name="assistant_delete",
    ),
    path("self-corrective-rag", views.self_corrective_page, name="self_corrective"),
    path("api/chat", ChatApi.as_view(), name="api-chat"),
    path("api/self-corrective-rag", SelfCorrectiveApi.as_view(), name="api-self-corrective-rag"),
    path("api/rag/query", RagQueryApi.as_view(), name="api-rag-query"),
    path("api/rag/query-stream", RagQueryStreamApi.as_view(), name="api-rag-query-stream"),
    path("v1/models", ModelsApi.as_view(), name="openai-models"),
    path("v1/models/<path:name>", ModelApi.as_view(), name="openai-model"),
    path("v1/chat/completions", ChatCompletionsApi.as_view(), name="openai-chat-completions"),
    path("api/assistants", AssistantsApi.as_view(), name="api-assistants"),
    path("api/assistants/<path:name>", AssistantApi.as_view(), name="api-assistant"),
    path("api/attachments", AttachmentsApi.as_view(), name="api-attachments"),
    path("api/usage", UsageApi.as_view(), name="api-usage"),
    path("api/sessions", SessionListApi.as_view(), name="api-sessions"),
    path("api/sessions/folders", FolderListApi.as_view(), name="api-session-folders"),
    path(
        "api/sessions/<uuid:session_id>/share", SessionShareApi.as_view(), name="api-session-share"
    ),
    path("api/sessions/<uuid:session_id>", SessionApi.as_view(), name="api-session"),
    path(
        "api/sessions/<uuid:session_id>/messages",
        SessionMessagesApi.as_view(),
        name="api-session-messages",
    ),
    path(
        "api/sessions/<uuid:session_id>/export",
        SessionExportApi.as_view(),
        name="api-session-export",
    ),
    path("api/messages/<uuid:message_id>", MessageApi.as_view(), name="api-message"),
    path("api/messages/<uuid:message_id>/stop", MessageStopApi.as_view(), name="api-message-stop"),
    path(
        "api/messages/<uuid:message_id>/regenerate",
        MessageRegenerateApi.as_view(),
        name="api-message-regenerate",
    ),
    path(
        "api/messages/<uuid:message_id>/continue",
        MessageContinueApi.as_view(),
        name="api-message-continue",
    ),
    path("api/messages/<uuid:message_id>/edit", MessageEditApi.as_view(), name="api-message-edit"),
    path(
        "api/messages/<uuid:message_id>/versions",
        MessageVersionsApi.as_view(),
        name="api-message-versions",
    ),
    path("api/messages/<uuid:message_id>/show", MessageShowApi.as_view(), name="api-message-show"),
    path(
        "api/messages/<uuid:message_id>/events",
        MessageEventsApi.as_view(),
        name="api-message-events",
    ),
]
