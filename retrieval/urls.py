from django.urls import URLPattern, URLResolver, path

from retrieval import views
from retrieval.api import (
    collections,
    document_content,
    document_keys,
    documents,
    filters,
    memory,
    search,
    status,
    sync_sources,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("documents/", views.documents_page, name="documents"),
    path("documents/shares/<uuid:collection_id>/", views.share_reply, name="share_reply"),
    path("documents/search/", views.search_page, name="search"),
    path("documents/sources/", views.sources_page, name="sources"),
    path("documents/sources/<uuid:source_id>/", views.source_act, name="source_act"),
    path("documents/<uuid:document_id>/", views.document_page, name="document"),
    path("memory/", views.memory_page, name="memory"),
    path("api/memory", memory.MemoriesApi.as_view(), name="api_memories"),
    path("api/memory/settings", memory.MemorySettingsApi.as_view(), name="api_memory_settings"),
    path("api/memory/<uuid:memory_id>", memory.MemoryApi.as_view(), name="api_memory"),
    path("api/documents", documents.DocumentsApi.as_view(), name="api_documents"),
    path("api/documents/bulk", documents.DocumentsBulkApi.as_view(), name="api_documents_bulk"),
    path("api/documents/usage", documents.DocumentsUsageApi.as_view(), name="api_documents_usage"),
    path(
        "api/documents/by-key/<slug:source>/<path:key>",
        document_keys.DocumentByKeyApi.as_view(),
        name="api_document_by_key",
    ),
    path("api/documents/<uuid:document_id>", documents.DocumentApi.as_view(), name="api_document"),
    path("api/documents/<uuid:document_id>/chunks", documents.DocumentChunksApi.as_view(), name="api_document_chunks"),
    path(
        "api/documents/<uuid:document_id>/content",
        document_content.DocumentContentApi.as_view(),
        name="api_document_content",
    ),
    path("api/documents/<uuid:document_id>/file", documents.DocumentFileApi.as_view(), name="api_document_file"),
    path(
        "api/documents/<uuid:document_id>/pages/<int:page>/picture",
        documents.DocumentPictureApi.as_view(),
        name="api_document_picture",
    ),
    path("api/collections", collections.CollectionsApi.as_view(), name="api_collections"),
    path("api/collections/<path:name>", collections.CollectionApi.as_view(), name="api_collection"),
    path("api/sync-sources", sync_sources.SyncSourcesApi.as_view(), name="api_sync_sources"),
    path("api/sync-sources/<uuid:source_id>", sync_sources.SyncSourceApi.as_view(), name="api_sync_source"),
    path("api/sync-sources/<uuid:source_id>/run", sync_sources.SyncSourceRunApi.as_view(), name="api_sync_source_run"),
    path("api/rag/upload", documents.RagUploadApi.as_view(), name="api_rag_upload"),
    path("api/status", status.StatusApi.as_view(), name="api_status"),
    path("api/filters", filters.FilterValuesApi.as_view(), name="api_filters"),
    path("api/search", search.SearchApi.as_view(), name="api_search"),
]
