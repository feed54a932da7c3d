"""Renders a Helm chart with Helm's own library and holds what comes out against Kubernetes' schemas.

Run by the interpreter of an environment that has helm-python-sdk and kubernetes-validate (`.ci/run` makes it), since
neither is wanted beside the site: `python rendered_chart.py CHART < values.json`. Prints a JSON object: `error` where
Helm refuses the values, else `rendered` (text of each template's output, by path), `lint` (warnings and errors),
`wrong` (what no schema allows) and `unknown` (kinds without a schema).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import helm_python  # type: ignore[import-not-found]
import kubernetes_validate  # type: ignore[import-not-found]
import yaml

VERSIONS = ("1.27", kubernetes_validate.latest_version())  # the oldest of Chart.yaml, and today's
WARNING = 2


def rendered(chart: str, values: dict[str, Any]) -> dict[str, Any]:
    try:
        texts = helm_python.Chart.load(chart).render(
            values, name="ragsite", namespace="rag", is_install=True
        )
    except helm_python.HelmError as error:
        return {"error": str(error)}
    found = helm_python.lint(chart, values)
    lint = [
        message["error"] for message in found["messages"] if message["severity"] >= WARNING
    ] + found["errors"]
    wrong = []
    unknown = set()
    for path, text in texts.items():
        if not path.endswith(".yaml"):
            continue
        for manifest in filter(None, yaml.safe_load_all(text)):
            for version in VERSIONS:
                try:
                    kubernetes_validate.validate(manifest, version, strict=True)
                except kubernetes_validate.SchemaNotFoundError:
                    unknown.add(manifest["kind"])
                except kubernetes_validate.ValidationError as error:
                    wrong.append(f"{path}, Kubernetes {version}: {error.message}")
    return {"rendered": texts, "lint": lint, "wrong": wrong, "unknown": sorted(unknown)}


if __name__ == "__main__":
    json.dump(rendered(sys.argv[1], json.load(sys.stdin)), sys.stdout)
