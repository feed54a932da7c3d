"""Push a folder's files into a collection, and take out what is gone: run it as often as you like.

    RAGSITE_KEY=… python docs/examples/push_folder.py http://127.0.0.1:8000 ~/handbook --collection policies

Needs httpx alone. An unchanged file is not sent: its SHA-256 is enough.
"""

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path
from urllib.parse import quote

import httpx


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--collection", default="documents")
    parser.add_argument("--source", default="folder")
    parser.add_argument(
        "--pushed", type=Path, default=Path("pushed.json"), help="keys of the last run"
    )
    given = parser.parse_args()
    headers = {"Authorization": f"Bearer {os.environ['RAGSITE_KEY']}"}
    before = set(json.loads(given.pushed.read_text())) if given.pushed.exists() else set()
    now, failed = set(), 0
    with httpx.Client(base_url=given.site, headers=headers, timeout=60) as site:
        for path in sorted(path for path in given.folder.rglob("*") if path.is_file()):
            key, data = path.relative_to(given.folder).as_posix(), path.read_bytes()
            address = f"/api/documents/by-key/{given.source}/{quote(key)}"
            fields = {
                "collection": given.collection,
                "content_hash": hashlib.sha256(data).hexdigest(),
            }
            # As multipart without a file: httpx takes fields for it when they come as files without a name.
            asked = site.put(address, files={name: (None, value) for name, value in fields.items()})
            if asked.status_code == 409:
                asked = site.put(address, data=fields, files={"file": (path.name, data)})
            now.add(key)
            failed += asked.is_error
            print(
                f"{key}: {asked.json()['error']['message'] if asked.is_error else asked.json()['outcome']}"
            )
        for key in sorted(before - now):
            address = f"/api/documents/by-key/{given.source}/{quote(key)}"
            site.delete(address, params={"collection": given.collection}).raise_for_status()
            print(f"{key}: deleted")
    given.pushed.write_text(json.dumps(sorted(now)))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
