"""The folder's Milvus Lite server: one owner, found by others, gone when its owner is."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ragsite.runtime import milvus_lite
from ragsite.runtime.milvus_lite import LiteServer, MilvusLiteError


def test_a_command_uses_the_running_server(milvus_server: LiteServer) -> None:
    with milvus_lite.ensure_server(milvus_server.data_dir) as uri:
        assert uri == milvus_server.uri == milvus_lite.current_uri(milvus_server.data_dir)
    assert milvus_server.ready()


def test_a_folder_has_one_owner(milvus_server: LiteServer) -> None:
    assert not LiteServer(milvus_server.data_dir).start()


def test_a_taken_port_is_refused_by_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(MilvusLiteError, match=f"MILVUS_LITE_PORT={port} is taken"):
            LiteServer(tmp_path, port=port).start()


def test_an_address_of_a_dead_owner_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    state = f'{{"uri": "http://127.0.0.1:1", "owner_pid": {dead.pid}}}'
    (tmp_path / "run" / "milvus.json").write_text(state)
    assert milvus_lite.current_uri(tmp_path) == ""
