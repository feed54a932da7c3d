"""The Helm chart: what can be told by its files, and, where Helm is there, what it makes of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import load_command_class
from django.urls import resolve

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.settings_group import refuse_unknown
from ragsite.core.site_settings import SiteSettings

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "chart"
EXAMPLES = sorted(path.name for path in CHART.glob("values-*.yaml"))
CLUSTER = "values-milvus-operator-cnpg.yaml"
OPEN = {
    "settings",
    "annotations",
    "labels",
    "podAnnotations",
    "nodeSelector",
}  # maps whose keys are the user's
GROUPS_OF_SETTINGS = (SiteSettings, *GROUPS.values())
HELM_PYTHON = os.environ.get("RAGSITE_TEST_HELM_PYTHON", "")
needs_helm = pytest.mark.skipif(
    not HELM_PYTHON,
    reason="RAGSITE_TEST_HELM_PYTHON names no Python with helm-python-sdk; .ci/run installs one",
)

Manifest = dict[str, Any]


def _values(name: str) -> dict[str, Any]:
    """Those of an example, with the one value that no example can know."""
    values: dict[str, Any] = yaml.safe_load((CHART / name).read_text())
    values.setdefault("image", {})["repository"] = "registry.example.org/ragsite"
    return values


def _helm(values: dict[str, Any]) -> dict[str, Any]:
    command = [HELM_PYTHON, str(ROOT / "tests" / "rendered_chart.py"), str(CHART)]
    done = subprocess.run(
        command, input=json.dumps(values), capture_output=True, text=True, check=True, timeout=120
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@cache
def _example(name: str) -> dict[str, Any]:
    return _helm(_values(name))


def _manifests(name: str) -> list[Manifest]:
    texts = [text for path, text in _example(name)["rendered"].items() if path.endswith(".yaml")]
    return [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]


def _pods(name: str) -> dict[str, Manifest]:
    """The pods' specifications, by component."""
    made = [
        manifest
        for manifest in _manifests(name)
        if manifest["kind"] in ("Deployment", "Job", "CronJob")
    ]
    return {
        manifest["metadata"]["labels"]["app.kubernetes.io/component"]: manifest["spec"]
        .get("jobTemplate", manifest)
        .get("spec")
        for manifest in made
    }


def _environment(pod: Manifest) -> dict[str, str]:
    """With a value of the right form in place of what a secret or the cluster has."""
    secrets = {
        "RAGSITE_OIDC": "issuer=https://id.example.org, client=ragsite, secret=words",
        "DATABASE_URL": "postgresql://ragsite:words@postgres/ragsite",
        "REDIS_URL": "redis://redis:6379/0",
        "EMAIL_URL": "smtp://mail.example.org",
        "RAGSITE_HOST": "10.1.2.3",
    }
    variables = pod["template"]["spec"]["containers"][0]["env"]
    return {
        variable["name"]: variable.get("value", secrets.get(variable["name"], "words" * 10))
        for variable in variables
    }


def _unknown_keys(values: dict[str, Any], known: dict[str, Any], path: str = "") -> list[str]:
    unknown = []
    for key, value in values.items():
        if key not in known:
            unknown.append(path + key)
        elif isinstance(value, dict) and key not in OPEN:
            unknown += _unknown_keys(value, known[key], f"{path}{key}.")
    return unknown


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_sets_only_what_the_chart_knows(name: str) -> None:
    known = yaml.safe_load((CHART / "values.yaml").read_text())
    assert _unknown_keys(yaml.safe_load((CHART / name).read_text()), known) == []


def test_every_value_that_a_template_reads_stands_in_the_chart_s_values() -> None:
    known = yaml.safe_load((CHART / "values.yaml").read_text())
    missing = []
    for path in sorted((CHART / "templates").iterdir()):
        for dotted in re.findall(r"\.Values((?:\.\w+)+)", path.read_text()):
            place: Any = known
            for key in dotted.strip(".").split("."):
                if not isinstance(place, dict) or key not in place:
                    missing.append(f"{path.name}: {dotted}")
                    break
                place = place[key]
    assert missing == []


@pytest.mark.parametrize("name", ["values.yaml", *EXAMPLES])
def test_every_variable_named_in_values_is_a_setting(name: str) -> None:
    values = yaml.safe_load((CHART / name).read_text())
    variables = {
        variable for group in GROUPS_OF_SETTINGS for variable in group.variables().values()
    }
    assert set(values.get("settings", {})) | set(values.get("secrets", {})) <= variables


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_helm_renders_what_kubernetes_takes(name: str) -> None:
    made = _example(name)
    without_schema = {
        "PodMonitor",
        "ScaledObject",
        "ServiceMonitor",
        "TriggerAuthentication",
    }  # other projects' kinds
    assert (made.get("error"), made["lint"], made["wrong"]) == (None, [], [])
    assert set(made["unknown"]) <= without_schema


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_pod_s_environment_is_one_that_the_site_starts_with(
    name: str, tmp_path: Path
) -> None:
    for pod in _pods(name).values():
        environment = _environment(pod)
        refuse_unknown(environment, GROUPS_OF_SETTINGS)
        site = SiteSettings.from_env(environment)
        rag = RagSettings.from_env(environment, data_dir=str(tmp_path))
        assert site.trusted_origins == ["https://rag.example.org"] and rag.milvus.uri
        assert len(environment) == len(
            pod["template"]["spec"]["containers"][0]["env"]
        )  # none is set twice


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_pod_is_given_the_addresses_of_services_as_variables(name: str) -> None:
    # RAGSITE_WEB_PORT=tcp://… of a Service `ragsite-web` is no setting: the site would refuse to start.
    assert {pod["template"]["spec"]["enableServiceLinks"] for pod in _pods(name).values()} == {
        False
    }


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_queue_has_a_worker(name: str) -> None:
    commands = [
        pod["template"]["spec"]["containers"][0].get("command", []) for pod in _pods(name).values()
    ]
    queues = [
        command[command.index("--queues") + 1] for command in commands if "--queues" in command
    ]
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert sorted(queues) == sorted({settings.CELERY_TASK_DEFAULT_QUEUE, *routed})


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_rag_ingest_workers_counts_the_processes_that_read_documents(name: str) -> None:
    pod = _pods(name)["ingest"]
    command = pod["template"]["spec"]["containers"][0]["command"]
    scaled = [
        made["spec"]["minReplicaCount"]
        for made in _manifests(name)
        if made["kind"] == "ScaledObject"
    ]
    replicas = pod.get("replicas", *scaled)
    concurrency = int(command[command.index("--concurrency") + 1])
    assert int(_environment(pod)["RAG_INGEST_WORKERS"]) == replicas * concurrency


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_web_pod_has_the_time_to_end_its_answers(name: str) -> None:
    pod = _pods(name)["web"]
    container = pod["template"]["spec"]["containers"][0]
    before = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = float(_environment(pod)["RAGSITE_DRAIN_S"])
    assert pod["template"]["spec"]["terminationGracePeriodSeconds"] >= drain + before + 10


@needs_helm
def test_a_worker_that_is_stopped_does_not_wait_for_its_tasks() -> None:
    pods = _pods(EXAMPLES[0])
    assert [_environment(pods[kind])["REMAP_SIGTERM"] for kind in ("ingest", "sources")] == [
        "SIGQUIT",
        "SIGQUIT",
    ]


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_container_is_bounded_and_writes_only_to_its_volumes(name: str) -> None:
    pods = _pods(name)
    assert set(pods) - {"backup"} == {"web", "ingest", "sources", "beat", "migrate"}
    for pod in pods.values():
        spec = pod["template"]["spec"]
        (container,) = spec["containers"]
        assert (
            spec["securityContext"]["runAsNonRoot"]
            and spec["automountServiceAccountToken"] is False
        )
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/data", "/tmp"}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]


@needs_helm
@pytest.mark.parametrize(
    ("name", "claims"),
    [("values-small.yaml", {"web", "ingest", "sources", "beat"}), (CLUSTER, {"backup"})],
)
def test_a_site_whose_uploads_lie_in_a_bucket_has_no_volume_for_them(
    name: str, claims: set[str]
) -> None:
    mounting = {
        kind
        for kind, pod in _pods(name).items()
        if any("persistentVolumeClaim" in volume for volume in pod["template"]["spec"]["volumes"])
    }
    assert mounting == claims
    assert any(made["kind"] == "PersistentVolumeClaim" for made in _manifests(name)) == (
        "web" in claims
    )


@needs_helm
def test_a_backup_is_written_to_a_volume_of_its_own() -> None:
    (container,) = _pods(CLUSTER)["backup"]["template"]["spec"]["containers"]
    parser = load_command_class("ragsite", "backup").create_parser("manage.py", "backup")
    options = vars(parser.parse_args(container["command"][3:]))
    assert (options["folder"], options["keep"], options["no_uploads"]) == (
        Path("/backups"),
        14,
        True,
    )
    assert "/backups" in {mount["mountPath"] for mount in container["volumeMounts"]}


@needs_helm
def test_probes_ask_the_site_by_a_name_that_it_answers_to() -> None:
    container = _pods(EXAMPLES[0])["web"]["template"]["spec"]["containers"][0]
    probes = {
        kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")
    }
    names = {kind: resolve(probe["path"]).url_name for kind, probe in probes.items()}
    hosts = {header["value"] for probe in probes.values() for header in probe["httpHeaders"]}
    assert names == {"startup": "healthz", "liveness": "healthz", "readiness": "readyz-own"}
    assert hosts == {"localhost"}


@needs_helm
def test_the_migration_needs_nothing_that_the_chart_makes_later() -> None:
    spec = _pods(EXAMPLES[0])["migrate"]["template"]["spec"]
    assert [volume for volume in spec["volumes"] if "emptyDir" not in volume] == []
    assert "serviceAccountName" not in spec


@needs_helm
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_selects_the_web_pods_selects_them_alone(name: str) -> None:
    labels = {kind: pod["template"]["metadata"]["labels"] for kind, pod in _pods(name).items()}
    selected: dict[tuple[str, str], frozenset[str]] = {}
    for made in _manifests(name):
        if made["kind"] in (
            "Service",
            "PodDisruptionBudget",
            "NetworkPolicy",
            "ServiceMonitor",
            "PodMonitor",
        ):
            selector = made["spec"].get("podSelector") or made["spec"]["selector"]
            wanted = selector.get("matchLabels", selector).items()
            [components] = [rule["values"] for rule in selector.get("matchExpressions", [])] or [
                list(labels)
            ]
            chosen = frozenset(kind for kind in components if wanted <= labels[kind].items())
            selected[made["kind"], made["metadata"]["name"]] = chosen
    everything = selected.pop(("NetworkPolicy", "ragsite"))
    assert everything == set(labels)
    workers = {selected.pop(key) for key in list(selected) if key[1].endswith("-workers")}
    assert workers <= {frozenset({"ingest", "sources"})}
    assert len(selected) >= 2 and set(selected.values()) == {frozenset({"web"})}


@needs_helm
def test_the_ingress_passes_on_as_nginx_conf_does() -> None:
    (ingress,) = [made for made in _manifests(EXAMPLES[0]) if made["kind"] == "Ingress"]
    notes = ingress["metadata"]["annotations"]
    said = dict(re.findall(r"^\s*(\w+) (\w+);", (ROOT / "deploy" / "nginx.conf").read_text(), re.M))
    prefix = "nginx.ingress.kubernetes.io/"
    assert notes[f"{prefix}proxy-body-size"] == said["client_max_body_size"]
    assert notes[f"{prefix}proxy-buffering"] == said["proxy_buffering"] == "off"
    assert notes[f"{prefix}proxy-request-buffering"] == said["proxy_request_buffering"] == "off"
    assert (
        int(notes[f"{prefix}proxy-read-timeout"])
        == int(notes[f"{prefix}proxy-send-timeout"])
        == 3600
    )
    assert said["proxy_read_timeout"] == "1h"


@needs_helm
@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"host": ""}, "host:"),
        ({"existingSecret": ""}, "existingSecret"),
        ({"milvus": {"uri": ""}}, "milvus.uri"),
        ({"image": {"repository": ""}}, "image.repository"),
        ({"trustedProxies": ""}, "trustedProxies"),
        (
            {"settings": {"DATABASE_URL": "postgresql://ragsite:words@postgres/ragsite"}},
            "settings.DATABASE_URL",
        ),
    ],
)
def test_what_is_missing_or_misplaced_is_named(changed: dict[str, Any], named: str) -> None:
    assert named in _helm({**_values(EXAMPLES[-1]), **changed})["error"]


@needs_helm
def test_no_secret_stands_in_what_is_rendered() -> None:
    assert [
        made["kind"] for name in EXAMPLES for made in _manifests(name) if made["kind"] == "Secret"
    ] == []
    for name in EXAMPLES:
        for pod in _pods(name).values():
            variables = pod["template"]["spec"]["containers"][0]["env"]
            plain = {variable["name"] for variable in variables if "value" in variable}
            assert plain.isdisjoint(yaml.safe_load((CHART / "values.yaml").read_text())["secrets"])
