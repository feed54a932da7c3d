"""Schemathesis over the whole API of a running site: `python -m tests.api_conformance`, or `make schemathesis`.

Brings the site up in a folder of its own, offline and with the sample documents, makes accounts and data, and lets
schemathesis call every operation of `/api/schema` with all its checks. Ends with 1 on any deviation of the site from
its schema, on fewer cases than AT_LEAST, and where an operation was not called. Further options are schemathesis' own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.processes import wait_until
from tests.running_site import PASSWORD, running_site

READY_S, WHOLE_S = 180, 1800
AT_LEAST = 1000  # cases
REFUSED_BY_DATA = {  # operationId: what input is refused (400, 413, 415) though it fits the schema, which can't say it
    "assistants_change": "people or groups that are not there",
    "assistants_create": "people or groups that are not there",
    "attachments_add": "a file whose content no reader takes, or one too many",
    "auth_token": "a name and password that belong to nobody",
    "chat": "a model that the model server does not list",
    "collections_change": "groups that the user is not in, or none for a shared collection",
    "collections_create": "groups that the user is not in, or none for a shared collection",
    "count": "words that stand in every text, or an order that texts have none of",
    "count_columns": "more than 50 collections, in one text",
    "documents_bulk": "what another action needs",
    "documents_change": "an old version for a document that no newer one replaces",
    "documents_put_by_key": "a file whose content no reader takes, or whose hash is another one",
    "documents_upload": "a file whose content no reader takes",
    "filter_values": "more than 50 collections, in one text",
    "keys_create": "a token: who makes a key is signed in on the site",
    "messages_continue_create": "the id of a question",
    "messages_edit_create": "a question that was never answered, or a model that is not listed",
    "messages_rating_update": "neither score nor thumb, or both and different",
    "messages_regenerate_create": "a model that the model server does not list",
    "messages_sources_rating_update": "neither score nor thumb, or both and different",
    "review_answer_mark": "somebody who does not work at the desk",
    "review_answers_list": "a collection, label or person that is not there, or a cursor of no page",
    "review_export": "a collection, label or person that is not there",
    "model_server_change": "an address where no model server can be, or what the environment decides",
    "model_server_test": "an address where no model server can be, or what the environment decides",
    "openai_chat_completions": "messages without a question at the end, or with what is no text",
    "rag_upload": "a file whose content no reader takes",
    "review_answer_replay": "a model or revision that is not there",
    "review_curated_import": "a file that is no CSV, or has other columns",
    "review_golden_import": "a file that is no CSV, or has other columns",
    "review_compare": "days that are too far apart",
    "review_stats": "days that are too far apart",
    "review_tokens": "days that are too far apart",
    "sync_sources_change": "an address that is none of its kind",
    "sync_sources_create": "an address that is none of its kind, or a folder that the operator does not name",
    "sessions_partial_update": "a body without any of its fields",
    "sessions_share_create": "a time that has passed",
}
REJECTED = [
    "400",
    "401",
    "403",
    "404",
    "405",
    "406",
    "409",
    "413",
    "415",
    "428",
    "429",
    "5xx",
]  # 413: too long
VARIABLES = {  # thousands of calls by one user are the point here
    "RAG_LIMIT_QUESTIONS_PER_MINUTE": "1000000",
    "RAG_LIMIT_ANSWERS_AT_ONCE": "1000",
    "RAGSITE_SAMPLE_DATA": "1",
}


def prepared(base: str) -> tuple[str, dict[str, list[Any]]]:
    """The administrator's token and ids by parameter name, once there is something of every kind to read and change."""
    credentials = {"username": "admin", "password": PASSWORD}
    with httpx.Client(base_url=base, timeout=60) as client:
        token = str(_json(client.post("/api/auth/token", json=credentials))["token"])
        client.headers["Authorization"] = f"Token {token}"
        _json(client.post("/api/collections", json={"name": "conformance"}))
        file = (
            "library.md",
            b"# Library\n\nUndergraduates may borrow up to 12 books at once.\n",
            "text/markdown",
        )
        uploaded = _json(
            client.post("/api/documents", files={"file": file}, data={"collection": "conformance"})
        )
        document = uploaded["documents"][0]["id"]

        def ready() -> bool:
            return _json(client.get(f"/api/documents/{document}"))["status"] == "ready"

        if not wait_until(ready, within_s=READY_S):
            raise SystemExit("The document is not read.")
        answer = _json(
            client.post(
                "/api/chat", json={"message": "How many books may an undergraduate borrow?"}
            )
        )
        _json(client.put(f"/api/messages/{answer['message_id']}/rating", json={"score": 5}))
        unanswered = _json(
            client.post("/api/chat", json={"message": "What does parking on the campus cost?"})
        )
        _json(client.put(f"/api/messages/{unanswered['message_id']}/rating", json={"score": 1}))
        chunk = _json(client.get(f"/api/documents/{document}/chunks"))["results"][0]
        replay = _json(
            client.post(
                f"/api/review/answers/{answer['message_id']}/replay", json={"workflow": "react"}
            )
        )
        imported = _json(
            client.post(
                "/api/review/golden",
                content=b"question,collection,expects\nWhere may I park?,conformance,NO_ANSWER\n",
                headers={"Content-Type": "text/csv"},
            )
        )
        return token, {
            "document_id": [document],
            "document": [document],
            "chunk": [chunk["id"]],
            "session_id": [answer["session_id"]],
            "message_id": [answer["message_id"]],
            "replay_id": [replay["id"]],
            "import_id": [imported["id"]],
            "name": ["conformance"],
            "collection": ["conformance"],
            "marker": [1],
        }


def configuration(ids: dict[str, list[Any]]) -> str:
    """schemathesis.toml: half of the ids that it makes up are ids of things that are there."""
    lines = [f"checks.negative_data_rejection.expected-statuses = {json.dumps(REJECTED)}"]
    for name, values in ids.items():
        lines.append(f"dictionaries.{name}.values = {json.dumps(values)}")
        lines.append(f'parameters.{name} = {{ dictionary = "{name}", probability = 0.5 }}')
    for operation in REFUSED_BY_DATA:
        expected = json.dumps(["2xx", "400", "401", "403", "404", "409", "413", "415", "429"])
        lines.append(f'[[operations]]\ninclude-operation-id = "{operation}"')
        lines.append(f"checks.positive_data_acceptance.expected-statuses = {expected}")
    return "\n".join(lines) + "\n"


def _json(response: httpx.Response) -> Any:
    response.raise_for_status()
    return response.json()


def schemathesis(
    base: str, folder: Path, *, examples: int, more: list[str]
) -> tuple[int, dict[str, Any]]:
    """The exit status, and the report."""
    token, ids = prepared(base)
    report, settings = folder / "report.json", folder / "schemathesis.toml"
    settings.write_text(configuration(ids))
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(settings),
        "run", f"{base}/api/schema", "--url", base,
        "--header", f"Authorization:Token {token}", "--checks", "all", "--max-examples", str(examples), "--seed", "1",
        "--generation-database", "none", "--request-timeout", "60", "--suppress-health-check", "all",
        "--continue-on-failure", "--no-color", "--report", "json", "--report-json-path", str(report), *more,
    ]  # fmt: skip
    status = subprocess.run(command, cwd=folder, timeout=WHOLE_S, check=False).returncode
    return status, json.loads(report.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--examples", type=int, default=4, help="random cases per operation and kind"
    )
    arguments, more = parser.parse_known_args()
    with (
        tempfile.TemporaryDirectory() as name,
        running_site(Path(name) / "var", **VARIABLES) as site,
    ):
        status, report = schemathesis(site.url, Path(name), examples=arguments.examples, more=more)
    cases, operations = report["test_cases"], report["operations"]
    print(
        f"{cases['generated']} cases on {operations['tested']} of {operations['total']} operations: "
        f"{cases['unique_failures']} deviations, {cases['errored']} errors."
    )
    is_complete = operations["tested"] == operations["total"] and cases["generated"] >= AT_LEAST
    if not is_complete:
        print(f"Too little was called: every operation, and {AT_LEAST} cases, are needed.")
    return status or int(cases["unique_failures"] + cases["errored"] > 0 or not is_complete)


if __name__ == "__main__":
    sys.exit(main())
