"""Variables of the version before go on working in this one: as constants, with a warning at start."""

from __future__ import annotations

import ast
import logging
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from ragsite.core.rag_settings import GROUPS, SettingsError, SiteSettings
from ragsite.retired_settings import GONE, RETIRED, apply_retired, gone_variables, retired_values, warn_of_gone
from retrieval.steps.query import query_rewriter
from tests.constants import constants

ROOT = Path(__file__).resolve().parent.parent
KEPT = {variable for group in (SiteSettings, *GROUPS.values()) for variable in group.variables().values()}


def test_variables_stay_few() -> None:
    assert len(KEPT) <= 93


def test_what_is_retired_is_no_setting_any_more() -> None:
    assert not KEPT & set(RETIRED)


def test_what_is_gone_is_neither_a_setting_nor_a_constant() -> None:
    assert not set(GONE) & (KEPT | set(RETIRED))


@pytest.mark.parametrize("variable", RETIRED)
def test_each_points_at_a_constant_whose_value_it_could_be(variable: str) -> None:
    (where, kind), (module, _, constant) = RETIRED[variable], RETIRED[variable][0].partition(":")
    value = getattr(import_module(module), constant, None)
    assert value is not None, f"{variable} points at {where}, which is not there"
    assert TypeAdapter(kind).validate_python(value, strict=True) == value


@pytest.mark.parametrize("module", sorted({where.partition(":")[0] for where, _ in RETIRED.values()}))
def test_a_constant_is_not_bound_where_its_module_is_loaded(module: str) -> None:
    """A default or a class attribute that is made of it would keep the value of the code."""
    names = {where.partition(":")[2] for where, _ in RETIRED.values() if where.partition(":")[0] == module}
    source = Path(import_module(module).__file__ or "").read_text(encoding="utf-8")
    assert not names & set(_loaded_outside_of_functions(ast.parse(source)))


def _loaded_outside_of_functions(node: ast.AST) -> list[str]:
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        children = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    own = [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else []
    return own + [name for child in children for name in _loaded_outside_of_functions(child)]


def test_a_constant_is_read_from_its_module_not_copied_by_name() -> None:
    homes = {tuple(where.split(":")) for where, _ in RETIRED.values()}
    copied = [
        (str(path), node.module, name.name)
        for folder in ("ragsite", "retrieval", "chat", "feedback")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if (node.module, name.name) in homes
    ]
    assert copied == []


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("RAG_SEARCH_RRF_K", "0", "RAG_SEARCH_RRF_K='0' must be at least 1"),
        ("RAG_REWRITE_VARIANTS", "99", "RAG_REWRITE_VARIANTS='99' must be at most 8"),
        ("RAG_RERANK_SNIPPET_LENGTH", "1", "RAG_RERANK_SNIPPET_LENGTH='1' must be at least 100"),
        ("RAG_SEARCH_VARIANT_FUSION", "sum", "RAG_SEARCH_VARIANT_FUSION='sum' is not 'mean' or 'rrf'"),
        ("RAG_PLANNED_CHECK_ANSWER", "maybe", "RAG_PLANNED_CHECK_ANSWER='maybe' is neither 1 nor 0"),
        ("RAG_INGEST_LEASE_S", "nan", "RAG_INGEST_LEASE_S='nan' is not a number"),
    ],
)
def test_a_wrong_value_is_refused_by_its_variable(variable: str, value: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        retired_values({variable: value})
    assert str(caught.value) == sentence


@pytest.mark.parametrize("variable", [name for name, (_, kind) in RETIRED.items() if kind not in (str, bool)])
def test_a_number_that_is_none_is_refused(variable: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        retired_values({variable: "a lot"})


def test_it_is_heeded_once_more_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with constants(query_rewriter, VARIANTS=3), caplog.at_level(logging.WARNING):
        apply_retired(retired_values({"RAG_REWRITE_VARIANTS": " 2 ", "RAG_SEARCH_RRF_K": ""}))
        assert query_rewriter.VARIANTS == 2
    (warning,) = caplog.messages
    assert "RAG_REWRITE_VARIANTS is the constant VARIANTS in retrieval.steps.query.query_rewriter now" in warning
    assert "will be ignored from the next one on" in warning


def test_a_site_starts_with_it_and_says_so(tmp_path: Path) -> None:
    code = "from retrieval.search import fusion; print('k', fusion.RRF_K)"
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env={**os.environ, "RAGSITE_DATA_DIR": str(tmp_path), "RAG_SEARCH_RRF_K": "7"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["k 7"]
    assert done.stderr.count("RAG_SEARCH_RRF_K") == 1
    assert "WARNING" in done.stderr


def test_of_a_variable_that_nothing_heeds_any_more_it_is_said_why(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_gone(gone_variables({"RAG_SEARCH_MIN_FILTERED_CANDIDATES": "any", "RAG_SEARCH_TOP_K": "10"}))
    (warning,) = caplog.messages
    assert warning.startswith("RAG_SEARCH_MIN_FILTERED_CANDIDATES is not heeded any more: filters ")


def test_an_empty_one_is_not_set() -> None:
    assert gone_variables({"RAG_SEARCH_MIN_FILTERED_CANDIDATES": " "}) == ()


def test_a_site_starts_with_switches_that_are_constants_now_and_one_that_is_gone(tmp_path: Path) -> None:
    code = "from retrieval.steps.query import transform as t; print(t.STEP_BACK_ENABLED, t.DECOMPOSE_ENABLED)"
    old = {"RAG_STEP_BACK_ENABLED": "0", "RAG_DECOMPOSE_ENABLED": "0", "RAG_SEARCH_MIN_FILTERED_CANDIDATES": "5"}
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env={**os.environ, "RAGSITE_DATA_DIR": str(tmp_path), **old},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["False False"]
    assert [done.stderr.count(variable) for variable in old] == [1, 1, 1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"RAG_FEEDBACK_COSINE_FROM": 0.95}, "RAG_FEEDBACK_COSINE_FROM=0.95, RAG_FEEDBACK_COSINE_FULL=0.9 must rise"),
        ({"RAG_FEEDBACK_OVERLAP_FROM": 0.8}, "must rise"),
        ({"RAG_PLANNED_RETRY_SCORE": 0.9}, "must not fall"),
        ({"RAG_PLANNED_FACTUALITY_WEIGHT": 0.9}, "must add up to 1"),
    ],
)
def test_values_that_do_not_go_together_are_refused(values: dict[str, float], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        apply_retired(values)


@pytest.mark.parametrize("variable", ["RAG_WEB_SEARCH_TIMEOUT_S", "RAG_REACT_TIMEOUT_S", "RAG_PLANNED_TIMEOUT_S"])
def test_no_time_at_all_is_refused(variable: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable}='0' must be above 0"):
        retired_values({variable: "0"})


def test_an_address_is_not_repeated_in_the_error() -> None:
    with pytest.raises(SettingsError) as refused:
        retired_values({"RAG_WEB_SEARCH_GOOGLE_URL": "ftp://u:secret@h"})
    assert "secret" not in str(refused.value)
