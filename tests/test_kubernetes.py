"""What `deploy/kubernetes` says is what Kubernetes takes, and what the bot needs."""

import importlib.util
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from bot.runtime.settings import load_settings
from tests.support.lanes import require
from tests.support.pages import ROOT, fenced, page

FOLDER = ROOT / "deploy/kubernetes"
PAGE = page("docs/how-to/kubernetes.md")
OVERLAYS = sorted(path.name for path in (FOLDER / "overlays").iterdir())
COMPONENTS = sorted(path.name for path in (FOLDER / "components").iterdir())
VERSIONS = ("1.30", "1.37")
"""The oldest and the newest Kubernetes for which the manifests are checked."""
OWN_USER = re.search(r"^USER (\d+):(\d+)$", page("deploy/Dockerfile"), re.MULTILINE)
KUSTOMIZE = "kustomize.config.k8s.io/"
OPERATOR = "monitoring.coreos.com/v1"


def assert_valid(resource):
    require(
        "kubernetes-validate",
        importlib.util.find_spec("kubernetes_validate"),
        "its package is not installed",
        # The lock file of SpoonAI's environment is without it.
        possible=sys.version_info < (3, 12),
    )
    import kubernetes_validate

    if resource["apiVersion"] == OPERATOR:
        # A kind of the Prometheus operator, of which the package has no schema.
        assert {"name", "labels"} <= {*resource["metadata"]}
        assert resource["kind"] in {"ServiceMonitor", "PrometheusRule"}
        return
    for version in VERSIONS:
        kubernetes_validate.validate(resource, version, strict=True)


# --- Built ----------------------------------------------------------------------------------------------------------


def build(folder):
    """Build a folder as `kubectl apply --kustomize` does."""
    kubectl = shutil.which("kubectl")
    said = subprocess.run(["kubectl", "version", "--client"], capture_output=True, text=True, check=False).stdout if kubectl else ""  # fmt: skip
    found = re.search(r"v1\.(\d+)", said)
    is_new = found and int(found[1]) >= 21
    # Not every system has a package that is new enough.
    require("kubectl", is_new, "it is not on the PATH in version 1.21 or newer", possible=False)
    built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    return [each for each in yaml.safe_load_all(built.stdout) if each]


def combined(tmp_path, overlay, components, more=""):
    """Build an overlay with components, from a folder of the operator's own beside it."""
    shutil.copytree(FOLDER, tmp_path / "kubernetes")
    own = tmp_path / "acme"
    own.mkdir()
    own.joinpath("kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "apiVersion": f"{KUSTOMIZE}v1beta1",
                "kind": "Kustomization",
                "resources": [f"../kubernetes/overlays/{overlay}"],
                "components": [f"../kubernetes/components/{name}" for name in components],
            }
        )
        + more
    )
    return build(own)


def one(resources, kind, name="assent"):
    (found,) = (each for each in resources if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


def pod(resources):
    return one(resources, "Deployment")["spec"]["template"]["spec"]


def environment(resources):
    (container,) = pod(resources)["containers"]
    return {each["name"]: each.get("value") for each in container["env"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_overlay_builds_and_is_valid(overlay):
    """With nothing added."""
    resources = build(FOLDER / "overlays" / overlay)

    assert {each["metadata"].get("namespace") for each in resources} == {"assent"}
    for resource in resources:
        assert_valid(resource)


@pytest.fixture(
    scope="module", params=[(), *((name,) for name in COMPONENTS), tuple(COMPONENTS)], ids="+".join
)
def resources(request, tmp_path_factory):
    """The overlay with one Redis, without and with each component, and with all of them."""
    return combined(tmp_path_factory.mktemp("kubernetes"), "one-redis", request.param)


def test_every_component_builds_and_is_valid(resources):
    """Alone and with all others."""
    for resource in resources:
        assert_valid(resource)


def test_every_path_of_a_setting_is_mounted(resources):
    """Secrets from the Secret, read only; the rest from folders, because a file that is mounted by itself never changes."""
    spec = pod(resources)
    mounts = {each["mountPath"]: each for each in spec["containers"][0]["volumeMounts"]}
    volumes = {each["name"]: each for each in spec["volumes"]}
    paths = {name: value for name, value in environment(resources).items() if value.startswith("/")}

    assert not any("subPath" in mount for mount in mounts.values())
    assert {"ASSENT_POLICY", "REDIS_URL_FILE", "SLACK_BOT_TOKEN_FILE"} <= set(paths)
    for name, path in paths.items():
        mount = mounts[path if path in mounts else path.rpartition("/")[0]]
        kind = {"_FILE": "secret", "T_DIR": "persistentVolumeClaim"}.get(name[-5:], "configMap")
        assert kind in volumes[mount["name"]]
        assert mount.get("readOnly", False) is (kind != "persistentVolumeClaim")
    assert mounts.keys() - {"/tmp"} == {path if path in mounts else path.rpartition("/")[0] for path in paths.values()}  # fmt: skip


def test_the_pods_fit_the_restricted_profile(resources):
    """As the bot's image wants to run: its user, and nothing to write to but what is mounted."""
    for kind, name, user in (("Deployment", "assent", OWN_USER[1]), ("StatefulSet", "redis", "999")):
        spec = one(resources, kind, name)["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        context = spec["securityContext"]

        assert (str(context["runAsUser"]), context["runAsNonRoot"]) == (user, True)
        assert context["fsGroup"] == context["runAsGroup"] == int(user)
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert spec["automountServiceAccountToken"] is False
        # Otherwise a Service called `assent` adds variables that the bot warns of.
        assert spec["enableServiceLinks"] is False
    assert OWN_USER[1] == OWN_USER[2]


def test_slack_reaches_its_own_address_only(resources):
    """Metrics and the API of agents stay inside."""
    for ingress in (each for each in resources if each["kind"] == "Ingress"):
        (rule,) = ingress["spec"]["rules"]
        (path,) = rule["http"]["paths"]

        assert (path["path"], path["pathType"]) == ("/slack/events", "Exact")
        assert path["backend"]["service"] == {"name": "assent", "port": {"name": "http"}}
        assert "SLACK_APP_TOKEN_FILE" not in environment(resources)


def test_the_redis_keeps_approvals(resources):
    """It writes an append-only file, evicts nothing, and refuses to write before the kernel kills it."""
    redis = one(resources, "StatefulSet", "redis")["spec"]
    (container,) = redis["template"]["spec"]["containers"]
    options = dict(zip(container["command"][1::2], container["command"][2::2], strict=True))

    assert redis["replicas"] == 1
    assert options["--appendonly"] == "yes"
    assert options["--maxmemory-policy"] == "noeviction"
    assert (options["--maxmemory"], container["resources"]["limits"]["memory"]) == ("512mb", "1Gi")
    assert options["--aclfile"] == "/run/secrets/redis/redis_users"
    assert {each["mountPath"] for each in container["volumeMounts"]} == {"/data", "/run/secrets/redis"}


def test_a_bot_starts_with_these_settings(resources, tmp_path, monkeypatch):
    """Each path leads into a folder of this test, with what the page puts there."""
    for name, value in environment(resources).items():
        path = tmp_path / value.lstrip("/")
        if name.endswith("_FILE"):
            path.parent.mkdir(parents=True, exist_ok=True)
            content = {
                "redis_url": "redis://assent-bot:secret@redis:6379/0",
                "record_key": "AAAA" * 10 + "AAA=",
            }
            path.write_text(content.get(path.name, path.name) + "\n")
        monkeypatch.setenv(name, str(path) if value.startswith("/") else value)

    settings = load_settings(env_file=None)

    assert settings.socket_mode is ("SLACK_APP_TOKEN_FILE" in environment(resources))
    assert settings.policy == str(tmp_path / "etc/assent/policy.yaml")


# --- The page -------------------------------------------------------------------------------------------------------


def test_the_example_of_an_own_folder_builds(tmp_path):
    """As the page has it: an image, a policy and components of one's own."""
    example, _ = fenced(PAGE, "yaml")
    assert yaml.safe_load(example)["apiVersion"].startswith(KUSTOMIZE)
    shutil.copytree(FOLDER, tmp_path / "deploy/kubernetes")
    own = tmp_path / "acme"
    own.mkdir()
    (own / "kustomization.yaml").write_text(example)
    (own / "policy.yaml").write_text("default: {channel: C0ACME, approvers: [U0ANN]}\n")

    resources = build(own)

    assert "C0ACME" in one(resources, "ConfigMap", "assent-policy")["data"]["policy.yaml"]
    assert pod(resources)["containers"][0]["image"] == "registry.example.com/assent:1.0"
    for resource in resources:
        assert_valid(resource)


def test_the_patches_of_the_page_set_ports_and_host(tmp_path):
    """In a folder of one's own, so that the files of the checkout stay as they are."""
    _, patches = fenced(PAGE, "yaml")

    resources = combined(tmp_path, "redis-elsewhere", ["http-mode"], patches)

    (rule,) = one(resources, "NetworkPolicy", "assent-to-redis")["spec"]["egress"]
    assert [each["port"] for each in rule["ports"]] == [26379, 6379]
    ingress = one(resources, "Ingress")["spec"]
    assert {ingress["rules"][0]["host"], *ingress["tls"][0]["hosts"]} == {"approvals.example.com"}
    assert "assent-redis" not in str(resources)
    for resource in resources:
        assert_valid(resource)
