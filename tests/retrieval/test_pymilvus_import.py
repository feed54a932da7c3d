"""pymilvus is imported without pandas, and does with DataFrames what it does otherwise."""

from __future__ import annotations

import subprocess
import sys

HEAD = "import sys; from retrieval.search.index.pymilvus_import import load_pymilvus; "


def printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", HEAD + program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_neither_pandas_nor_pyarrow_is_loaded_by_an_import_and_a_schema():
    program = """
pymilvus = load_pymilvus()
schema = pymilvus.MilvusClient.create_schema(auto_id=False)
schema.add_field("key", pymilvus.DataType.VARCHAR, max_length=64, is_primary=True)
schema.add_field("vector", pymilvus.DataType.FLOAT_VECTOR, dim=4)
print(len(schema.fields), *sorted({"pandas", "pandas.api", "pandas.api.types", "pyarrow"} & set(sys.modules)))
"""
    assert printed(program) == "2"


def test_a_data_frame_is_taken_for_one():
    program = """
load_pymilvus()
from pymilvus.orm.schema import is_valid_insert_data
before = is_valid_insert_data(object()), is_valid_insert_data([])
import pandas
print(*before, is_valid_insert_data(pandas.DataFrame({"key": [1]})), is_valid_insert_data(object()))
"""
    assert printed(program) == "False True True False"


def test_a_function_of_pandas_loads_it_when_it_is_called():
    program = """
load_pymilvus()
from pymilvus.orm.types import infer_dtype_bydata
print("pandas" in sys.modules, infer_dtype_bydata(1.5).name, "pandas" in sys.modules)
"""
    assert printed(program) == "False DOUBLE True"


def test_where_pandas_is_there_already_it_is_used():
    program = """
import pandas
load_pymilvus()
from pymilvus.orm import schema
print(schema.pd is pandas)
"""
    assert printed(program) == "True"


def test_a_client_that_needs_more_of_pandas_is_imported_with_it(tmp_path):
    package = tmp_path / "pymilvus"
    package.mkdir()
    (package / "__init__.py").write_text("import pandas\nfrom pymilvus import part\n")
    (package / "part.py").write_text("from pandas import Series\n")
    program = f"""
sys.path.insert(0, {str(tmp_path)!r})
import logging; logging.basicConfig(stream=sys.stdout, format="%(message)s")
print(load_pymilvus().part.Series.__name__)
"""
    warning, imported = printed(program).splitlines()
    assert warning.startswith("pymilvus needs more of pandas (cannot import name 'Series'")
    assert imported == "Series"
