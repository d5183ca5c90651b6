"""deploy/'s container files: each passes its linter, and what it says runs: as the user it names, with a root that can't
be written to, without anything of this machine's environment."""

import errno
import ipaddress
import json
import re
import signal
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from harness import deployed_postgres
from harness.certificates import Authority
from harness.deployment import CONTAINER_USER, DEPLOY, Image, checked, needs_root, seconds, tool
from harness.gateway import REPOSITORY
from harness.process import Process, wait_until
from harness.samples import (
    ADMIN_TOKEN, ECS, IMAGE, KUBERNETES, MANIFESTS, METRICS_TOKEN, compose, compose_sample, ecs_container, ecs_sample,
    ecs_settings, kubernetes_sample,
)
from harness.sanitizer import SANITIZER


# ---- Linters


@pytest.mark.parametrize("name", ["Dockerfile", "ecs/Dockerfile", "example-backend/Dockerfile"])
def test_dockerfiles_pass_hadolint(name):
    checked(tool("hadolint"), DEPLOY / name)


def test_yaml_passes_yamllint():
    checked(tool("yamllint"), "--strict", "-c", DEPLOY / "yamllint.yaml", DEPLOY, DEPLOY.parent / "Config")


def test_the_compose_file_has_its_schema():
    checked(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


def test_the_manifests_have_the_schemas_of_kubernetes():
    """In one process, which takes seconds to read the schemas."""
    assert len(KUBERNETES) > 5
    checked(tool("kubernetes-validate"), "--strict", *KUBERNETES)


def test_the_cloud_formation_template_passes_cfn_lint():
    checked(tool("cfn-lint"), DEPLOY / "ecs" / "gatehouse.yaml")


# ---- The build's context


def is_sent(path: Path) -> bool:
    """Docker's rule: the last pattern that matches the path or a directory above it decides."""
    sent = True
    for line in re.findall(r"(?m)^[^#\n].*$", (DEPLOY / "Dockerfile.dockerignore").read_text()):
        pattern = line.removeprefix("!").split("/")
        if len(path.parts) >= len(pattern) and all(map(fnmatchcase, path.parts, pattern)):
            sent = line.startswith("!")
    return sent


def test_the_build_gets_each_file_that_it_copies():
    copies = re.findall(r"(?m)^COPY (?!--from)(.+)$", (DEPLOY / "Dockerfile").read_text())
    sources = [Path(word) for copy in copies for word in copy.split()[:-1]]
    assert Path("Sources") in sources
    # A name with a star may be the name of nothing.
    copied = [path for path in sources if "*" not in path.name]
    assert [path for path in copied if not (REPOSITORY / path).exists() or not is_sent(path)] == []
    links = [path for source in copied for path in (REPOSITORY / source).rglob("*") if path.is_symlink()]
    assert links
    for link in links:
        target = link.resolve(strict=True).relative_to(REPOSITORY.resolve())
        assert is_sent(target) and any(target.is_relative_to(source) for source in copied), link


# ---- The image


def test_the_image_is_slim_and_runs_as_nobody():
    assert "slim" in IMAGE.base
    assert IMAGE.user == CONTAINER_USER
    assert IMAGE.instructions["VOLUME"] == ["/var/lib/gatehouse"]
    assert IMAGE.health_command[0] == IMAGE.command()[0] == "/usr/bin/gatehouse"
    assert "curl" not in re.sub("libcurl4", "", " ".join(IMAGE.instructions["RUN"]))


@pytest.mark.skipif(bool(SANITIZER), reason="a sanitizer's build links more, and is in no image")
def test_the_image_has_every_library_that_the_binary_links(tmp_path):
    """Each Debian package that the binary needs directly is named, or is there as another one's dependency."""
    from harness.gateway import binary

    packages = set(IMAGE.instructions["RUN"][0].split())
    dynamic = checked("objdump", "-p", binary())
    needed = [name for name in re.findall(r"NEEDED\s+(\S+)", dynamic) if not re.match(r"lib(swift|Foundation|_Foundation|dispatch|Blocks)", name)]
    assert needed
    own = {"libc.so.6": "libc6", "libm.so.6": "libc6", "ld-linux-x86-64.so.2": "libc6", "libgcc_s.so.1": "libgcc-s1"}
    in_base = {"libc6", "libgcc-s1"}
    for library in needed:
        owner = own.get(library) or {
            "libcrypto.so.3": "libssl3",
            "libssl.so.3": "libssl3",
            "libcurl.so.4": "libcurl4",
            "libnghttp2.so.14": "libnghttp2-14",
            "libsqlite3.so.0": "libsqlite3-0",
            "libstdc++.so.6": "libstdc++6",
            "libz.so.1": "zlib1g",
        }.get(library)
        assert owner in packages | in_base, f"{library} comes with {owner}, which the image has not"


@needs_root
def test_the_image_without_settings_says_what_is_missing(deployed):
    started = deployed("bare", IMAGE.command(), {}, {}, IMAGE.user)
    assert started.process.wait(20) == 78
    assert "/etc/gatehouse/gatehouse.yaml" in started.process.log()


# ---- Compose


@needs_root
def test_compose_serves_the_quickstart(deployed):
    file = compose()
    services = file["services"]

    assert all(service["read_only"] and service["cap_drop"] == ["ALL"] for service in services.values())

    def start(name: str, secrets: dict[str, str]):
        service = services[name]
        files = {
            config["target"]: (DEPLOY / file["configs"][config["source"]]["file"]).read_text() for config in service["configs"]
        }
        files |= secrets
        command = IMAGE.command(service.get("command"))
        return deployed(name, command, service["environment"], files, IMAGE.user, hosts=tuple(services))

    network = deployed.network
    backend = Image(DEPLOY / "example-backend" / "Dockerfile").command()
    assert backend[0] == "python"
    backend_process = Process(
        network.inside([sys.executable, *backend[1:]]), deployed.directory / "backend.log", cwd=DEPLOY / "example-backend"
    )
    deployed.keep(backend_process)
    check = services["backend"]["healthcheck"]["test"]
    backend_process.wait_ready(lambda: network.request("http://127.0.0.1:9000/public/hello")[0] == 200, "the backend")
    checked(*network.inside([sys.executable, *check[2:]]))
    secrets = deployed_postgres.composed(deployed, file)
    start("local-pool", {})
    gateway = start("gateway", secrets)
    gateway.wait_healthy(["/usr/bin/gatehouse", "health"])

    assert network.request("http://127.0.0.1:8080/public/hello")[0] == 200
    assert network.request("http://127.0.0.1:8080/api/v1/me")[0] == 401
    ada = {"email": "ada@example.com", "password": "Correct-Horse-7-Battery"}
    status, text = network.request("http://127.0.0.1:8080/api/v1/auth/login", ada)
    assert status == 200, text
    tokens = json.loads(text)
    status, text = network.request("http://127.0.0.1:8080/api/v1/auth/me", token=tokens["access_token"])
    assert status == 200 and "ada@example.com" in text
    status, _ = network.request("http://127.0.0.1:8080/api/v1/auth/refresh", {"refresh_token": tokens["refresh_token"]})
    assert status == 200
    # The pool is behind the gateway, not beside it.
    assert "ports" not in services["local-pool"] and file["networks"]["inside"]["internal"]
    # The user is nobody, and nothing but the directory of key sets can be written.
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    assert re.search(r"^Uid:\s65532\s65532\s65532", status, re.MULTILINE)
    with pytest.raises(OSError) as refused:
        Path(f"/proc/{gateway.process.pid}/root/etc/written").touch()
    assert refused.value.errno == errno.EROFS
    assert gateway.run(["/usr/bin/gatehouse", "keys", "list"]).returncode == 0
    assert [path.name for path in gateway.root.state.iterdir()] == ["key-set-local.json"]
    assert gateway.end(seconds(services["gateway"]["stop_grace_period"])) == 0


@needs_root
def test_the_health_check_asks_whether_the_gateway_is_alive_not_whether_it_is_ready(deployed):
    """The backend and the pool of compose.yaml are not there: that is no reason to restart the gateway."""
    file = compose()
    assert "healthcheck" not in file["services"]["gateway"]
    gateway = compose_sample(deployed_postgres.composed(deployed, file)).start(deployed)
    gateway.wait_healthy(IMAGE.health_command)
    ready = gateway.run(["/usr/bin/gatehouse", "health"])
    assert (ready.returncode, "key sets" in ready.stdout) == (1, True)
    # One that does not answer, such as a hung one, is unhealthy.
    gateway.process.signal(signal.SIGSTOP)
    try:
        assert gateway.run(IMAGE.health_command).returncode == 1
    finally:
        gateway.process.signal(signal.SIGCONT)
    assert gateway.run(IMAGE.health_command).returncode == 0
    assert gateway.end(20) == 0
    assert gateway.run(IMAGE.health_command).returncode == 1


# ---- Kubernetes


def test_the_manifests_fit_together():
    pod = MANIFESTS["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert MANIFESTS[kind]["spec"]["selector"]["matchLabels"] == labels
    assert MANIFESTS["Service"]["spec"]["selector"] == labels
    assert MANIFESTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert MANIFESTS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == MANIFESTS["Deployment"]["metadata"]["name"]
    container = pod["spec"]["containers"][0]
    security = {**pod["spec"]["securityContext"], **container["securityContext"]}
    assert security["runAsNonRoot"] and (security["runAsUser"], security["runAsGroup"]) == IMAGE.user
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == [path.name for path in KUBERNETES]


def test_only_the_ingress_reaches_a_pod_and_is_trusted():
    """Whoever is trusted names the addresses of clients: no range that a cluster's pods or nodes have is."""
    settings = yaml.safe_load(MANIFESTS["ConfigMap"]["data"]["gatehouse.yaml"])
    pods = [ipaddress.ip_network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")]
    for trusted in map(ipaddress.ip_network, settings["trusted_proxies"]):
        assert trusted.prefixlen >= 24 and not any(trusted.overlaps(network) for network in pods)
    for rule in MANIFESTS["NetworkPolicy"]["spec"]["ingress"]:
        assert rule["from"] and all(list(peer["namespaceSelector"]["matchLabels"]) for peer in rule["from"])


def test_a_pod_has_time_to_drain():
    settings = yaml.safe_load(MANIFESTS["ConfigMap"]["data"]["gatehouse.yaml"])
    pod = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
    before = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > before + seconds(settings["drain_timeout"])


def test_a_pod_has_time_to_bring_the_schema_up_to_date():
    probe = MANIFESTS["Deployment"]["spec"]["template"]["spec"]["containers"][0]["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] > 60


@needs_root
def test_a_pod_starts_and_answers_its_probes(deployed):
    container = MANIFESTS["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    sample = kubernetes_sample()
    pod = sample.with_authority(deployed_postgres.managed(deployed, sample.database_host)).start(deployed)

    def probe(name: str) -> tuple[int, str]:
        get = container[name]["httpGet"]
        return deployed.network.request(f"http://127.0.0.1:{ports[get['port']]}{get['path']}")

    pod.process.wait_ready(lambda: probe("startupProbe")[0] == 200, "the pod")
    assert probe("livenessProbe")[0] == 200
    # Cognito is not there: alive, and rightly without traffic.
    assert probe("readinessProbe") == (503, "waiting for key sets\n")
    can_be_operated(deployed.network, ports["admin"])
    assert deployed.network.request(f"http://127.0.0.1:{ports['http']}/api/v1/x")[0] == 401
    assert pod.end(20) == 0


@needs_root
@pytest.mark.parametrize(
    "name, key",
    [
        ("ADMIN_TOKEN", "admin.token"), ("METRICS_TOKEN", "admin.metrics_token"),
        ("sealing-key", "state.postgres.sealing_keys"), ("ca.pem", "trusted_certificates"),
    ],
)
def test_no_pod_starts_with_a_value_of_the_example(name, key, deployed, tmp_path):
    """All others are good ones."""
    values = {"ca.pem": Authority(tmp_path).pem.read_text()}
    example = MANIFESTS["Secret"]["stringData"].get(name, "replace-me")
    pod = kubernetes_sample(values | {name: example}).start(deployed)
    assert pod.process.wait(20) == 78
    assert key in pod.process.log() and example not in pod.process.log()


def can_be_operated(network, port: int) -> None:
    """Metrics and changes are for who has the token, as it comes from the secret."""
    admin = f"http://127.0.0.1:{port}"
    for page in ("/metrics", "/status"):
        assert network.request(admin + page)[0] == 401
        assert network.request(admin + page, token=ADMIN_TOKEN)[0] == 200
    # Prometheus' own opens nothing else.
    assert network.request(f"{admin}/metrics", token=METRICS_TOKEN)[0] == 200
    assert network.request(f"{admin}/status", token=METRICS_TOKEN)[0] == 403
    assert network.request(f"{admin}/log-level", {"level": "info"}, token=METRICS_TOKEN)[0] == 403
    assert network.request(f"{admin}/log-level", {"level": "info"})[0] == 401
    assert network.request(f"{admin}/log-level", {"level": "info"}, token=ADMIN_TOKEN)[0] == 200


# ---- ECS


def test_a_task_has_time_to_drain():
    drain = seconds(yaml.safe_load(ecs_settings())["drain_timeout"])
    assert ecs_container()["StopTimeout"] > drain
    attributes = {each["Key"]: each["Value"] for each in ECS["Resources"]["TargetGroup"]["Properties"]["TargetGroupAttributes"]}
    assert int(attributes["deregistration_delay.timeout_seconds"]) >= drain


@needs_root
def test_a_task_starts_by_its_environment_alone(deployed):
    container = ecs_container()
    user = tuple(int(number) for number in container["User"].split(":"))
    assert user == IMAGE.user and container["ReadonlyRootFilesystem"]
    sample = ecs_sample()
    task = sample.with_authority(deployed_postgres.managed(deployed, sample.database_host)).start(deployed)
    health = container["HealthCheck"]["Command"]
    assert health[0] == "CMD"
    # Cognito is not there: the task is healthy, and gets no traffic.
    task.wait_healthy(health[1:])
    group = ECS["Resources"]["TargetGroup"]["Properties"]
    url = f"http://127.0.0.1:{group['HealthCheckPort']}{group['HealthCheckPath']}"
    wait_until(lambda: deployed.network.request(url)[0] == 503, "the balancer's health check to be answered")
    assert deployed.network.request(f"http://127.0.0.1:{group['Port']}/api/v1/x")[0] == 401
    can_be_operated(deployed.network, int(group["HealthCheckPort"]))
    assert len(sample.environment) == 5
    assert not [name for name, secret in sample.environment.items() if secret in task.process.log()]
    assert task.end(container["StopTimeout"]) == 0
