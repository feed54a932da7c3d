"""A labelled set made by rule from a product manual: questions from its headings and parameters, passages its sections.

    FOLDER/NAME/NAME.tar.gz   Markdown files

A heading that is a question, that says how to do something, or that names a parameter becomes a question whose answer
is the section under it. Where the question is the heading, the section is found without it every other time, since
users seldom say what a heading says. The sections beside it stay: they look alike and do not answer.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECTION_CHARS = 1200
MIN_CHARS = 60
MAX_FILES = 420  # by a hash of their path; so many are enough
_HEADING = re.compile(r"^(#{1,5})\s+(.+?)\s*#*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_MARKUP = re.compile(r"<[^>\n]{1,200}>|\{#[^}\n]*\}|\{\{[^}\n]*\}\}|!\[[^\]\n]*\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HOW_TO = re.compile(
    r"^(?:Add|Build|Check|Configure|Connect|Create|Customize|Delete|Deploy|Disable|Drop|Enable|Export|Get|Import|Insert|Install"
    r"|List|Load|Manage|Migrate|Monitor|Perform|Query|Release|Remove|Rename|Restore|Run|Scale|Search|Set|Set up|Start"
    r"|Stop|Uninstall|Update|Upgrade|Use|View)\s+(?=[a-zA-Z])"
)
_HOW_TO_ZH = re.compile(
    r"^(?:配置|创建|使用|查看|修改|删除|部署|安装|升级|扩容|缩容|启用|开启|关闭|设置|添加|恢复|备份|导入|导出|迁移|监控|连接|停止|启动|检查|清理)[^，。：]{3,24}$"
)
_QUESTION = re.compile(r"^(?:What|Why|How|When|Where|Which|Who|Is|Are|Does|Do|Can|Should|Will)\b.{8,110}\?$")
_QUESTION_ZH = re.compile(r"^.{5,60}[？?]$|^(?:如何|怎么|怎样|为什么|什么是).{3,40}$")
_PARAMETER = re.compile(r"^((?!v\d)[A-Za-z][\w-]*(?:[._][\w-]+)+|[a-z]+(?:-[a-z]+){2,})(?:\s|$)")
PARAMETERS = 0.35  # share of the parameters that are asked about, so that they do not crowd out the other questions
_DEFAULT = re.compile(r"默认值|default", re.IGNORECASE)
_UNIT_WORDS = ("What is the default value of {}?", "What does {} control?")
_UNIT_WORDS_ZH = ("{} 的默认值是多少？", "{} 有什么作用？")


@dataclass(frozen=True, slots=True)
class ManualSet:
    """Rows as in corpus.jsonl (with `heading`) and queries.jsonl, and per question the ids of what answers it."""

    corpus: list[dict[str, str]]
    queries: list[dict[str, str]]
    answers: dict[str, list[str]]


def manual_set(archive: Path) -> ManualSet:
    corpus: list[dict[str, str]] = []
    queries: dict[str, dict[str, str]] = {}
    answers: dict[str, list[str]] = {}
    for path, text in _files(archive):
        for number, (title, parents, heading, body) in enumerate(_sections(text)):
            identity = f"{path}#{number}"
            question, is_heading = _question(heading, body, identity)
            dropped = is_heading and _chance(identity) < 0.5
            shown = " > ".join(parents if dropped else [*parents, heading])
            parts = [
                {"id": f"{identity}.{at}", "title": title, "heading": shown, "text": part}
                for at, part in enumerate(_parts(body))
            ]
            corpus += parts
            if question and parts and question not in queries:
                queries[question] = {"id": identity, "text": question}
                answers[identity] = [part["id"] for part in parts]
    return ManualSet(corpus, list(queries.values()), answers)


def _files(archive: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(archive) as tar:
        members = [member for member in tar.getmembers() if member.name.endswith(".md") and member.isfile()]
        faqs = {member.name for member in members if "faq" in member.name.lower() or "variables" in member.name}
        chosen = sorted(members, key=lambda member: (member.name not in faqs, _chance(member.name)))[:MAX_FILES]
        for member in sorted(chosen, key=lambda member: member.name):
            file = tar.extractfile(member)
            if file is not None:
                yield member.name, file.read().decode("utf-8", "replace")


def _sections(text: str) -> Iterator[tuple[str, list[str], str, str]]:
    """(title, headings above it, its own heading, its text)."""
    title, path, heading, lines, fenced = "", [], "", [], False
    front = text.split("---", 2)[2] if text.startswith("---") and text.count("---") > 1 else text
    for line in [*front.splitlines(), "# "]:
        fenced ^= bool(_FENCE.match(line))
        match = None if fenced else _HEADING.match(line) or (re.match(r"(#) ()", line))
        if not match:
            lines.append(line)
            continue
        body = "\n".join(lines).strip()
        if heading and len(body) >= MIN_CHARS:
            yield title, [name for _, name in path[:-1]][1:], heading, body
        level, heading, lines = len(match.group(1)), _clean(match.group(2)), []
        title = title or heading
        path = [*((depth, name) for depth, name in path if depth < level), (level, heading)]


def _clean(text: str) -> str:
    return " ".join(_LINK.sub(r"\1", _MARKUP.sub(" ", text)).replace("`", "").replace("**", "").split())


def _parts(body: str) -> list[str]:
    text = re.sub(r"[ \t]+", " ", _LINK.sub(r"\1", _MARKUP.sub(" ", body)))
    text = re.sub(r"\n\s*\n+", "\n", text).strip()
    parts, rest = [], text
    while len(rest) > SECTION_CHARS:
        at = max(
            rest.rfind("\n", 200, SECTION_CHARS),
            rest.rfind("。", 200, SECTION_CHARS),
            rest.rfind(". ", 200, SECTION_CHARS),
        )
        at = at + 1 if at > 0 else SECTION_CHARS
        parts.append(rest[:at].strip())
        rest = rest[at:]
    return [part for part in [*parts, rest.strip()] if len(part) >= MIN_CHARS]


def _question(heading: str, body: str, identity: str) -> tuple[str, bool]:
    """The question that the section answers, empty for none, and whether it says what the heading says."""
    chinese = bool(_HAN.search(body))
    if (_QUESTION_ZH if chinese else _QUESTION).match(heading):
        return heading, True
    if parameter := _PARAMETER.match(heading):
        if _chance(f"{identity} asked") > PARAMETERS:
            return "", False
        words = _UNIT_WORDS_ZH if chinese else _UNIT_WORDS
        return words[0 if _DEFAULT.search(body) and _chance(identity) < 0.6 else 1].format(parameter.group(1)), False
    if chinese and _HOW_TO_ZH.match(heading):
        return f"如何{heading}？", True
    if not chinese and _HOW_TO.match(heading) and len(heading) < 70:
        return f"How do I {heading[0].lower()}{heading[1:]}?", True
    return "", False


def _chance(text: str) -> float:
    """0..1, the same for the same text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
