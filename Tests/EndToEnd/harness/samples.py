"""The deployment samples: what deploy/compose.yaml, deploy/kubernetes and deploy/ecs say of a gateway."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from .deployment import CONTAINER_USER, DEPLOY, Deployed, Image, cloud_formation
from .gateway import POOL_CLIENT_SECRET
from .postgres import PASSWORD
from .replicas import SEALING_KEY

IMAGE = Image(DEPLOY / "Dockerfile")
KUBERNETES = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
NAMED = {
    (each["kind"], each["metadata"]["name"]): each for path in KUBERNETES for each in yaml.safe_load_all(path.read_text())
}
# Those with the gateway's name.
MANIFESTS = {kind: each for (kind, name), each in NAMED.items() if name == "gatehouse"}
ECS = cloud_formation(DEPLOY / "ecs" / "gatehouse.yaml")
ADMIN_TOKEN, METRICS_TOKEN = "t" * 32, "m" * 32
SETTINGS = "/etc/gatehouse/gatehouse.yaml"


@dataclass(frozen=True)
class Sample:
    """A gateway of a sample: its settings, and what it finds around it."""

    name: str
    # How many gateways the sample runs.
    count: int
    settings: str
    command: list[str]
    environment: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)
    # A sample without has its settings in the environment.
    has_settings_file: bool = True
    has_volume: bool = False

    @property
    def parsed(self) -> dict:
        return yaml.safe_load(self.settings)

    @property
    def database_host(self) -> str:
        return urlsplit(self.parsed["state"]["postgres"]["url"]).hostname or ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of all that it calls."""
        parsed = self.parsed
        urls = [parsed["state"]["postgres"]["url"], *(each["url"] for each in parsed["upstreams"].values())]
        return tuple({host for url in urls if (host := urlsplit(url).hostname)}) + ("local-pool", cognito_host())

    def with_authority(self, pem: str) -> "Sample":
        """As it is when the database's authority is in its file."""
        return replace(self, files={**self.files, self.parsed["state"]["postgres"]["trusted_certificates"]: pem})

    def start(self, deployed, name: str = "", settings: str | None = None) -> Deployed:
        text = settings or self.settings
        given = ({}, {SETTINGS: text}) if self.has_settings_file else ({"GATEHOUSE_CONFIG_YAML": text}, {})
        environment, files = {**self.environment, **given[0]}, {**self.files, **given[1]}
        return deployed(
            name or self.name, self.command, environment, files, CONTAINER_USER, self.hosts, has_volume=self.has_volume
        )


def cognito_host() -> str:
    return "cognito-idp.eu-central-1.amazonaws.com"


# Compose


def compose() -> dict:
    text = (DEPLOY / "compose.yaml").read_text()
    return yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text))


def compose_file(file: dict, name: str) -> str:
    """The text of one of its configs."""
    return (DEPLOY / file["configs"][name]["file"]).read_text()


def compose_gateways(file: dict) -> dict[str, dict]:
    """The services that are gateways."""
    return {
        name: each for name, each in file["services"].items()
        if any(config["target"] == SETTINGS for config in each.get("configs", []))
    }  # fmt: skip


def compose_sample(secrets: dict[str, str]) -> Sample:
    """`secrets` are the files of the gateways' volume."""
    file = compose()
    services = compose_gateways(file)
    gateway = services["gateway"]
    command = IMAGE.command(gateway.get("command"))
    # Its tmpfs.
    has_volume = any(each.startswith("/var/lib/gatehouse:") for each in gateway["tmpfs"])
    text = compose_file(file, "gateway")
    return Sample("gateway", len(services), text, command, gateway["environment"], secrets, has_volume=has_volume)


# Kubernetes


def pod() -> dict:
    return MANIFESTS["Deployment"]["spec"]["template"]["spec"]


def kubernetes_sample(values: dict[str, str] | None = None) -> Sample:
    """A pod, with `values` in the place of some of the secrets' example values."""
    (container,) = pod()["containers"]
    own = {"password": PASSWORD, "sealing-key": f"1:{SEALING_KEY}"}
    tokens = {"ADMIN_TOKEN": ADMIN_TOKEN, "METRICS_TOKEN": METRICS_TOKEN}
    values = {"COGNITO_CLIENT_SECRET": POOL_CLIENT_SECRET, **tokens, **own, **(values or {})}
    environment = {
        name: values.get(name, text)
        for source in container["envFrom"]
        for name, text in NAMED["Secret", source["secretRef"]["name"]]["stringData"].items()
    }
    volumes = {each["name"]: each for each in pod()["volumes"]}
    files: dict[str, str] = {}
    for mount in container["volumeMounts"]:
        assert mount["readOnly"]
        volume = volumes[mount["name"]]
        for source in volume["projected"]["sources"] if "projected" in volume else [volume]:
            kind = "Secret" if "secret" in source else "ConfigMap"
            entry = source.get("secret") or source["configMap"]
            for name, text in NAMED[kind, entry["name"]]["stringData" if kind == "Secret" else "data"].items():
                files[f"{mount['mountPath']}/{name}"] = values.get(name, text)
    settings = files.pop(SETTINGS)
    count = MANIFESTS["HorizontalPodAutoscaler"]["spec"]["minReplicas"]
    return Sample("pod", count, settings, IMAGE.command(container["args"]), environment, files)


# ECS


def ecs_container() -> dict:
    (container,) = ECS["Resources"]["Task"]["Properties"]["ContainerDefinitions"]
    return container


def ecs_settings() -> str:
    (entry,) = [each for each in ecs_container()["Environment"] if each["Name"] == "GATEHOUSE_CONFIG_YAML"]
    values = {
        "VpcNetwork": "10.0.0.0/16",
        "DatabaseHost": "state.cluster-c1a2b3.eu-central-1.rds.amazonaws.com",
        "BackendUrl": "http://api.internal:8000",
        "UserPoolId": "eu-central-1_AbCdEfGhI",
        "ClientId": "1example23456789abcdefghij",
    }
    text = re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], entry["Value"]["Sub"])
    return text.replace("${!", "${")


def ecs_sample() -> Sample:
    container = ecs_container()
    values = {
        "COGNITO_CLIENT_SECRET": POOL_CLIENT_SECRET, "ADMIN_TOKEN": ADMIN_TOKEN, "METRICS_TOKEN": METRICS_TOKEN,
        "STATE_PASSWORD": PASSWORD, "STATE_SEALING_KEY": f"1:{SEALING_KEY}",
    }  # fmt: skip
    environment = {each["Name"]: values[each["Name"]] for each in container["Secrets"]}
    count = ECS["Resources"]["Service"]["Properties"]["DesiredCount"]
    return Sample("task", count, ecs_settings(), IMAGE.command(container["Command"]), environment, has_settings_file=False)


def added_files(dockerfile: Path) -> list[str]:
    """The files that a Dockerfile adds to its image."""
    return [line.split()[-1] for line in Image(dockerfile).instructions["ADD"]]
