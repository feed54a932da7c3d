"""Imported by the fork server of `reader` alone: loads the parsers, and what each fork would load by itself."""

from __future__ import annotations

import gc
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process that forks must have no other thread

import langchain_text_splitters  # noqa: F401
from PIL import Image

from retrieval.engine.text.analysis import warm_up
from retrieval.engine.text.languages import chinese_variant
from retrieval.knowledge.ingest import reading  # noqa: F401
from retrieval.knowledge.ingest.pdf import page  # noqa: F401

warm_up()
chinese_variant("圖書館")
Image.preinit()
gc.collect()
gc.freeze()  # the garbage collector would write to the pages that the forks share
