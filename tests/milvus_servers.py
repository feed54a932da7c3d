"""Other kinds of Milvus than the Lite that a site starts: a server, emulated, and the former Lite where it is there.

`MilvusServer` is a gRPC server in front of Milvus Lite that answers as Milvus 2.6 does in what the two differ:

- it calls itself 2.6.7;
- Flush is refused with code 8 within 10 s of the last one of the collection (quotaAndLimits.flushRate.collection.max);
- it knows the tokenizer `whitespace` alone, takes each parameter of an index as a field of its own, fills the templates
  of filters, gives BM25 as a positive score, finds rows that were never flushed by their words, too, and allows no more
  replicas than it has nodes;
- where `fail_next` says so, it refuses a call with an error that it marks as retriable.

What it can't show: how a real one waits for consistency, loses nodes, or builds its indexes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from pymilvus.grpc_gen import common_pb2, milvus_pb2, schema_pb2

FLUSH_EVERY_S = 10.0
RATE_LIMIT = 8
NODE_LOST = 502  # channel not available
SERVICE = "/milvus.proto.milvus.MilvusService/"
NODES = 2


class MilvusServer:
    """In front of the Lite at `lite_uri`. calls: how often each method was asked. certificate: PEM (key, chain).
    port: 0 for a free one."""

    def __init__(
        self, lite_uri: str, *, certificate: tuple[bytes, bytes] | None = None, port: int = 0
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.refused_flushes = 0
        self.consistency: list[int] = []  # of each search
        self.templates: list[int] = []  # lengths of the lists beside filters
        self.fail_next: Counter[str] = Counter()  # calls of each method that are still to fail
        self._flushed_at: dict[str, float] = {}
        self._unflushed: set[str] = set()  # what Lite's search by words would not see
        self._lite = grpc.insecure_channel(lite_uri.removeprefix("http://"))
        self._server = grpc.server(ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((_Handler(self),))
        if certificate:
            port = self._server.add_secure_port(
                f"127.0.0.1:{port}", grpc.ssl_server_credentials([certificate])
            )
            self.uri = f"https://localhost:{port}"
        else:
            port = self._server.add_insecure_port(f"127.0.0.1:{port}")
            self.uri = f"http://127.0.0.1:{port}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()
        self._lite.close()

    def answer(self, method: str, request: bytes, metadata: Any) -> bytes:
        self.calls[method] += 1
        if self.fail_next[method]:
            self.fail_next[method] -= 1
            status = common_pb2.Status(
                code=NODE_LOST, reason="channel not available", retriable=True
            )
            return _with_status(method, status)
        if change := getattr(self, f"_{method.lower()}", None):
            return change(request, metadata)
        return self._forward(method, request, metadata)

    def _forward(self, method: str, request: bytes, metadata: Any) -> bytes:
        return self._lite.unary_unary(SERVICE + method)(request, metadata=metadata, timeout=120)

    def _getversion(self, request: bytes, metadata: Any) -> bytes:
        return milvus_pb2.GetVersionResponse(version="v2.6.7").SerializeToString()

    def _flush(self, request: bytes, metadata: Any) -> bytes:
        now = time.monotonic()
        for name in milvus_pb2.FlushRequest.FromString(request).collection_names:
            if now < self._flushed_at.get(name, -FLUSH_EVERY_S) + FLUSH_EVERY_S:
                self.refused_flushes += 1
                status = common_pb2.Status(
                    code=RATE_LIMIT,
                    error_code=common_pb2.RateLimit,
                    reason="rate limit exceeded [rate=0.1]",
                )
                return milvus_pb2.FlushResponse(status=status).SerializeToString()
            self._flushed_at[name] = now
        return self._forward("Flush", request, metadata)

    def _upsert(self, request: bytes, metadata: Any) -> bytes:
        self._unflushed.add(milvus_pb2.UpsertRequest.FromString(request).collection_name)
        return self._forward("Upsert", request, metadata)

    def _createcollection(self, request: bytes, metadata: Any) -> bytes:
        asked = milvus_pb2.CreateCollectionRequest.FromString(request)
        assert b'"standard"' not in asked.schema, "its tokenizer takes our terms apart"
        schema = schema_pb2.CollectionSchema.FromString(asked.schema)
        for field in schema.fields:
            for pair in field.type_params:
                pair.value = pair.value.replace("whitespace", "standard")
        asked.schema = schema.SerializeToString()
        return self._forward("CreateCollection", asked.SerializeToString(), metadata)

    def _createindex(self, request: bytes, metadata: Any) -> bytes:
        asked = milvus_pb2.CreateIndexRequest.FromString(request)
        options = {pair.key: pair.value for pair in asked.extra_params}
        assert "params" not in options, "a server would leave these out"
        named = {
            key: options.pop(key)
            for key in list(options)
            if key not in ("index_type", "metric_type")
        }
        if options["index_type"] == "AUTOINDEX":
            options["index_type"] = "HNSW"
            named = {"M": "16", "efConstruction": "200"}
        del asked.extra_params[:]
        options["params"] = json.dumps({key: json.loads(value) for key, value in named.items()})
        asked.extra_params.extend(
            common_pb2.KeyValuePair(key=key, value=value) for key, value in options.items()
        )
        return self._forward("CreateIndex", asked.SerializeToString(), metadata)

    def _loadcollection(self, request: bytes, metadata: Any) -> bytes:
        if milvus_pb2.LoadCollectionRequest.FromString(request).replica_number > NODES:
            status = common_pb2.Status(code=400, reason="service resource insufficient")
            return status.SerializeToString()
        return self._forward("LoadCollection", request, metadata)

    def _search(self, request: bytes, metadata: Any) -> bytes:
        asked = milvus_pb2.SearchRequest.FromString(request)
        if asked.collection_name in self._unflushed:
            self._unflushed.discard(asked.collection_name)
            flush = milvus_pb2.FlushRequest(collection_names=[asked.collection_name])
            self._forward("Flush", flush.SerializeToString(), metadata)
        self.consistency.append(asked.consistency_level)
        self.templates += [len(_items(value)) for value in asked.expr_template_values.values()]
        asked.dsl = _filled(asked.dsl, asked.expr_template_values)
        asked.ClearField("expr_template_values")
        answer = milvus_pb2.SearchResults.FromString(
            self._forward("Search", asked.SerializeToString(), metadata)
        )
        if any(pair.key == "anns_field" and pair.value == "sparse" for pair in asked.search_params):
            scores = [abs(score) for score in answer.results.scores]
            del answer.results.scores[:]
            answer.results.scores.extend(scores)
        return answer.SerializeToString()

    def _query(self, request: bytes, metadata: Any) -> bytes:
        asked = milvus_pb2.QueryRequest.FromString(request)
        asked.expr = _filled(asked.expr, asked.expr_template_values)
        asked.ClearField("expr_template_values")
        return self._forward("Query", asked.SerializeToString(), metadata)


def _items(value: Any) -> list[str]:
    return list(value.array_val.string_data.data)


def _filled(expression: str, values: Any) -> str:
    """What a server makes of a filter and its templates."""
    for name, value in values.items():
        assert f"{{{name}}}" in expression
        expression = expression.replace(f"{{{name}}}", json.dumps(_items(value)))
    assert "{" not in expression
    return expression


def _with_status(method: str, status: Any) -> bytes:
    kinds = {
        "Search": milvus_pb2.SearchResults,
        "Query": milvus_pb2.QueryResults,
        "Upsert": milvus_pb2.MutationResult,
    }
    return kinds[method](status=status).SerializeToString()


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, server: MilvusServer) -> None:
        self._server = server

    def service(self, handler_call_details: Any) -> Any:
        method = handler_call_details.method.removeprefix(SERVICE)
        metadata = [
            pair
            for pair in handler_call_details.invocation_metadata
            if pair[0] in ("dbname", "authorization")
        ]

        def answer(request: bytes, context: Any) -> bytes:
            try:
                return self._server.answer(method, request, metadata)
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())
                raise

        return grpc.unary_unary_rpc_method_handler(answer)


class NativeLiteServer:
    """Milvus Lite 2.5.1's program, whose folder RAGSITE_TEST_MILVUS_LITE_25 names (`lib` of the package's)."""

    def __init__(self, folder: Path, library: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{port}"
        command = [str(library / "milvus"), str(folder / "index.db"), f"127.0.0.1:{port}", "ERROR"]
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
        self._process = subprocess.Popen(command, env=environment, cwd=folder)
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        grpc.channel_ready_future(channel).result(timeout=60)
        channel.close()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
