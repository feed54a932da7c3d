"""Outlook messages made for the tests: a compound file of storages and streams, as [MS-CFB] and [MS-OXMSG] have it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import compressed_rtf

SECTOR, SMALL = 512, 64
FREE, END, FAT_SECTOR = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
STORAGE, STREAM, ROOT = 1, 2, 5
TEXT, BINARY, NUMBER = 0x001F, 0x0102, 0x0003
Tree = Mapping[str, "bytes | Tree"]


def msg_bytes(**fields: Any) -> bytes:
    """As `message_tree`."""
    return compound_file(message_tree(**fields))


def message_tree(
    *, subject: str, sender: str, body: str = "", html: str = "", rich: str = "", is_attached: bool = False,
    files: Mapping[str, bytes | Tree] | None = None,
) -> Tree:  # fmt: skip
    """rich: the text as RTF. is_attached: the message is attached to another one. files: a `Tree` is such a message."""
    files = files or {}
    head = struct.pack("<8x4I", 0, len(files), 0, len(files)) + bytes(0 if is_attached else 8)
    texts = {0x0037: subject, 0x0042: sender, 0x1000: body}
    binaries = (
        {0x1013: html.encode()}
        if html
        else {0x1009: compressed_rtf.compress(rich.encode())}
        if rich
        else {}
    )
    tree: dict[str, bytes | Tree] = dict(
        _properties(head, {key: text for key, text in texts.items() if text}, binaries)
    )
    for number, (name, content) in enumerate(files.items()):
        is_file = isinstance(content, bytes)
        storage: dict[str, bytes | Tree] = dict(
            _properties(
                bytes(8),
                {0x3707: name},
                {0x3701: content} if is_file else {},
                {0x3705: 1 if is_file else 5},
            )
        )
        if not is_file:
            storage["__substg1.0_3701000D"] = content
        tree[f"__attach_version1.0_#{number:08X}"] = storage
    return tree


def _properties(
    head: bytes,
    texts: Mapping[int, str],
    binaries: Mapping[int, bytes],
    numbers: Mapping[int, int] | None = None,
) -> dict[str, bytes]:
    entries, streams = [head], {}
    for key, text in texts.items():
        data = text.encode("utf-16-le")
        entries.append(struct.pack("<HHIII", TEXT, key, 6, len(data) + 2, 0))
        streams[f"__substg1.0_{key:04X}{TEXT:04X}"] = data
    for key, data in binaries.items():
        entries.append(struct.pack("<HHIII", BINARY, key, 6, len(data), 0))
        streams[f"__substg1.0_{key:04X}{BINARY:04X}"] = data
    for key, number in (numbers or {}).items():
        entries.append(struct.pack("<HHIII", NUMBER, key, 6, number, 0))
    return {"__properties_version1.0": b"".join(entries)} | streams


def compound_file(tree: Tree) -> bytes:
    """All streams are small ones, in the root's stream."""
    entries: list[list[object]] = [
        ["Root Entry", ROOT, FREE, FREE, END, 0]
    ]  # name, kind, next, child, start, size
    small = b""
    chains: list[int] = []

    def add(children: Tree) -> int:
        nonlocal small
        first = previous = FREE
        for name, content in children.items():
            at = len(entries)
            entries.append(
                [name, STREAM if isinstance(content, bytes) else STORAGE, FREE, FREE, END, 0]
            )
            if isinstance(content, bytes):
                entries[at][5] = len(content)
                if content:
                    entries[at][4] = start = len(small) // SMALL
                    count = -(-len(content) // SMALL)
                    chains.extend([*range(start + 1, start + count), END])
                    small += content.ljust(count * SMALL, b"\0")
            else:
                entries[at][3] = add(content)
            if previous == FREE:
                first = at
            else:
                entries[previous][2] = at
            previous = at
        return first

    entries[0][3] = add(tree)
    entries[0][5] = len(small)
    directory = b"".join(_entry(*entry) for entry in entries)
    parts = [directory, struct.pack(f"<{len(chains)}I", *chains), small]
    sectors, starts, table = [], [], [FAT_SECTOR]
    for part in parts:
        count = max(1, -(-len(part) // SECTOR))
        starts.append(len(table))
        table += [*range(len(table) + 1, len(table) + count), END]
        filler = b"\xff" if part is parts[1] else b"\0"
        sectors.append(part.ljust(count * SECTOR, filler))
    assert len(table) <= SECTOR // 4
    start = struct.pack("<I", starts[2])
    sectors[0] = sectors[0][:116] + start + sectors[0][120:]
    fat = struct.pack("<128I", *table, *[FREE] * (128 - len(table)))
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, starts[0], 0, 4096,
        starts[1], len(sectors[1]) // SECTOR, END, 0,
    )  # fmt: skip
    return header + struct.pack("<109I", 0, *[FREE] * 108) + fat + b"".join(sectors)


def _entry(name: str, kind: int, following: int, child: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    return struct.pack(
        "<64sHBBIII16x4x16xIQ", encoded, len(encoded), kind, 1, FREE, following, child, start, size
    )
