"""Documents as the ingest leaves them, without an index: file, chunks and parts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile

from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.read_document import ReadDocument
from retrieval.knowledge.ingest.reading import read_document
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES, kind_by_name
from retrieval.knowledge.services.ingest import rows_of_read
from retrieval.models import Chunk, Document, DocumentPart
from tests.factories import DocumentFactory


def read(data: bytes, name: str, *, tokens: int = 120) -> ReadDocument:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        return read_document(path, kind=kind_by_name(name), size=ChunkSize(tokens, 20))


def read_document_row(data: bytes, name: str, **fields: Any) -> Document:
    found = read(data, name)
    document = DocumentFactory(file_name=name, media_type=MEDIA_TYPES[kind_by_name(name)], **fields)
    document.file.save(name, ContentFile(data))
    chunks, parts = rows_of_read(document, found)
    Chunk.objects.bulk_create(chunks)
    DocumentPart.objects.bulk_create(parts)
    document.page_count, document.chunk_count = found.page_count, len(chunks)
    document.word_count = found.word_count
    document.language = fields.get("language", found.language)
    document.unread = [sentence.wording for sentence in found.unread]
    document.save()
    return document
