"""`python -m retrieval.ingest.reader_process KIND PATH LIMITS PARENT`: read one PDF or Office file, print it as JSON.

Exit status 3: unreadable, the reason is on standard output. The process dies with the worker that started it.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from retrieval.die_with_parent import die_with_parent
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import ParsedDocument
from retrieval.ingest.limits import MIB, ParseLimits, check_archive, check_length
from retrieval.ingest.parsing import UNREADABLE, document_as_json


def read(kind: str, path: Path, limits: ParseLimits) -> ParsedDocument:
    # Imported by need: each of them takes a good part of this process's short life.
    if kind == "pdf":
        from retrieval.ingest.pdf import parse_pdf

        return parse_pdf(path, limits)
    check_archive(path, limits)
    if kind == "pptx":
        from retrieval.ingest.pptx import parse_pptx

        return parse_pptx(path, limits)
    if kind == "xlsx":
        from retrieval.ingest.xlsx import parse_xlsx

        return parse_xlsx(path, limits)
    from retrieval.ingest.docx import parse_docx

    document = parse_docx(path)
    check_length(sum(len(block.text) for block in document.blocks), limits)
    return document


def main(kind: str, path: str, limits: str, parent: str) -> int:
    die_with_parent(int(parent))
    values = json.loads(limits)
    memory = values.pop("memory_mib") * MIB
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        sys.stdout.write(document_as_json(read(kind, Path(path), ParseLimits(**values))))
    except DocumentUnreadableError as error:
        sys.stdout.write(error.message)
        return UNREADABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
