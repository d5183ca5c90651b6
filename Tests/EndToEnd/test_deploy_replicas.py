"""The deployment samples run several gateways on one state: as many as each sample says, by its own configuration, on a
real PostgreSQL whose certificate they verify. Only addresses are others."""

import json
import signal
import sys

import pytest
import yaml
from harness import deployed_postgres, documentation
from harness.certificates import Authority
from harness.deployment import DEPLOY, Image, checked, needs_root, tool
from harness.gateway import ADA, check, merged
from harness.postgres import PASSWORD
from harness.process import Process, wait_until
from harness.replicas import SEALING_KEY
from harness.samples import (
    ADMIN_TOKEN, ECS, IMAGE, MANIFESTS, Sample, added_files, compose, compose_file, compose_gateways, compose_sample,
    ecs_container, ecs_sample, kubernetes_sample, pod,
)

POOL = "http://local-pool:9229"
WHOAMI = "/api/v1/whoami"
LOGIN, REFRESH, LOGOUT, ME = (f"/api/v1/auth/{name}" for name in ("login", "refresh", "logout", "me"))
# PostgreSQL's defaults: max_connections less superuser_reserved_connections.
CONNECTIONS = 100 - 3


def sample(name: str, directory) -> Sample:
    """One whose files are there; the database's authority is one that has signed nothing."""
    pem = Authority(directory, "unused").pem.read_text()
    if name == "compose":
        files = {"postgres-password": PASSWORD, "state-sealing-key": f"1:{SEALING_KEY}", "postgres-authority.pem": pem}
        return compose_sample({f"{deployed_postgres.SECRETS}/{name}": text for name, text in files.items()})
    return {"kubernetes": kubernetes_sample, "ecs": ecs_sample}[name]().with_authority(pem)


SAMPLES = pytest.mark.parametrize("name", ["compose", "kubernetes", "ecs"])


# ---- As values


@SAMPLES
def test_check_finds_the_configuration_good(name, tmp_path):
    found = sample(name, tmp_path)
    text = found.settings
    for number, (path, content) in enumerate(found.files.items()):
        file = tmp_path / f"file-{number}"
        file.write_text(content)
        assert path in text
        text = text.replace(path, str(file))
    path = tmp_path / "gatehouse.yaml"
    path.write_text(text)
    result = check(path, found.environment)
    assert result.returncode == 0, result.stdout + result.stderr


@SAMPLES
def test_the_configuration_has_the_schema(name, tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(sample(name, tmp_path).settings)
    checked(tool("check-jsonschema"), "--schemafile", DEPLOY.parent / "Config" / "gatehouse.schema.json", path)


@SAMPLES
def test_the_state_is_in_postgres_whose_certificate_is_verified(name, tmp_path):
    """The name is none of this machine's, which alone would be let off."""
    found = sample(name, tmp_path)
    state = found.parsed["state"]["postgres"]
    assert state["trusted_certificates"] in found.files
    assert found.database_host not in ("", "localhost") and not found.database_host.startswith("127.")
    assert PASSWORD not in found.settings and SEALING_KEY not in found.settings
    assert ":" not in state["url"].removeprefix("postgresql://").partition("@")[0], "no password in the URL"


def test_compose_runs_two_gateways_on_one_postgres():
    file = compose()
    gateways = compose_gateways(file)
    assert sorted(gateways) == ["gateway", "gateway-2"]
    ports = [port for each in gateways.values() for port in each["ports"]]
    assert ports == ["127.0.0.1:8080:8080", "127.0.0.1:8081:8080"]
    # All else is the same, so that both have one state, and neither has a place of its own to keep it.
    first, second = ({key: value for key, value in each.items() if key not in ("ports", "build")} for each in gateways.values())
    assert first == second and [volume.split(":")[0] for volume in first["volumes"]] == ["gateway-secrets"]
    postgres = file["services"]["postgres"]
    assert first["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "postgres:/var/lib/postgresql/data" in postgres["volumes"] and "postgres" in file["volumes"]
    assert postgres["networks"] == ["inside"] and "ports" not in postgres
    # A health check over TCP: while it is set up, the image's server listens on a socket.
    assert "--host=127.0.0.1" in postgres["healthcheck"]["test"]


def test_the_secrets_of_compose_are_in_files_and_made_first():
    file = compose()
    postgres, secrets = file["services"]["postgres"], file["services"]["secrets"]
    assert postgres["depends_on"]["secrets"]["condition"] == "service_completed_successfully"
    assert secrets["restart"] == "no" and secrets["network_mode"] == "none"
    assert all(name.endswith("_FILE") for name in postgres["environment"])
    # One who reads a secret has a volume of its own with it.
    mounts = {volume.split(":")[0]: volume.split(":")[1] for volume in secrets["volumes"]}
    assert secrets["entrypoint"][-2:] == [mounts["gateway-secrets"], mounts["postgres-secrets"]]
    for name, service in {"postgres-secrets": postgres, "gateway-secrets": file["services"]["gateway"]}.items():
        (mount,) = [volume for volume in service["volumes"] if volume.endswith(":ro")]
        assert mount == f"{name}:{deployed_postgres.SECRETS}:ro"
    # Each belongs to the user that reads it.
    script = compose_file(file, "make-secrets")
    assert "chown {0}:{1}".format(*IMAGE.user) in script and f"chown {postgres['user']}" in script
    # It runs in the gateways' image.
    assert secrets["image"] == "gatehouse" and "openssl" in IMAGE.instructions["RUN"][0].split()


@needs_root
def test_the_secrets_of_compose_are_made_once_for_those_who_read_them(tmp_path):
    gateways, postgres = tmp_path / "gateways", tmp_path / "postgres"
    gateways.mkdir()
    postgres.mkdir()

    def made() -> dict[str, str]:
        deployed_postgres.make_secrets(gateways, postgres)
        return {path.name: path.read_text() for path in [*gateways.iterdir(), *postgres.iterdir()]}

    first = made()
    assert made() == first
    assert first["postgres-password"] == first["gatehouse-password"] != first["superuser-password"]
    owners = {"gateways": IMAGE.user[0], "postgres": int(compose()["services"]["postgres"]["user"].partition(":")[0])}
    for path in [*gateways.iterdir(), *postgres.iterdir()]:
        assert path.stat().st_mode & 0o077 == 0, path
        assert path.stat().st_uid == owners[path.parent.name] or path.name == "complete", path
    # The authority's key has signed what it was for.
    assert not [name for name, text in first.items() if "PRIVATE KEY" in text and name != "server.key"]
    name = compose_sample({}).database_host
    checked("openssl", "verify", "-CAfile", gateways / "postgres-authority.pem", "-verify_hostname", name, postgres / "server.pem")
    # One that was interrupted begins anew.
    (gateways / "complete").unlink()
    again = made()
    assert again.keys() == first.keys() and again["state-sealing-key"] != first["state-sealing-key"]


def test_kubernetes_runs_three_pods_or_more_and_keeps_two():
    scaler, budget = MANIFESTS["HorizontalPodAutoscaler"]["spec"], MANIFESTS["PodDisruptionBudget"]["spec"]
    assert scaler["minReplicas"] == 3 and budget["maxUnavailable"] == 1
    # The autoscaler's number would be undone by each `kubectl apply`.
    deployment = MANIFESTS["Deployment"]["spec"]
    assert "replicas" not in deployment
    rolling = deployment["strategy"]["rollingUpdate"]
    assert rolling["maxUnavailable"] == 0
    keys = {each["topologyKey"] for each in pod()["topologySpreadConstraints"]}
    assert keys == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    # All pods of a rollout fit into PostgreSQL's default.
    a_pod = kubernetes_sample().parsed["state"]["postgres"]["pool_size"] + 1
    assert (scaler["maxReplicas"] + rolling["maxSurge"]) * a_pod <= CONNECTIONS


def test_a_pod_has_no_volume_for_state():
    kinds = [kind for each in pod()["volumes"] for kind in each if kind != "name"]
    assert set(kinds) <= {"configMap", "secret", "projected"}
    assert "emptyDir" not in (DEPLOY / "kubernetes" / "deployment.yaml").read_text()


def test_the_network_policy_lets_pods_reach_what_they_call():
    policy = MANIFESTS["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    # Names, the backend, the database, Cognito.
    assert ports == {53, 8000, deployed_postgres.PORT, 443}
    assert kubernetes_sample().parsed["upstreams"]["api"]["url"].endswith(":8000")


def test_ecs_runs_two_tasks_and_never_fewer():
    service = ECS["Resources"]["Service"]["Properties"]
    assert service["DesiredCount"] == 2
    assert (service["DeploymentConfiguration"]["MinimumHealthyPercent"], service["DeploymentConfiguration"]["MaximumPercent"]) == (100, 200)
    assert "Volumes" not in ECS["Resources"]["Task"]["Properties"] and "MountPoints" not in ecs_container()
    (secrets,) = ECS["Resources"]["ExecutionRole"]["Properties"]["Policies"]
    assert secrets["PolicyDocument"]["Statement"][0]["Resource"] == [each["ValueFrom"] for each in ecs_container()["Secrets"]]
    ingress = ECS["Resources"]["DatabaseIngress"]["Properties"]
    assert ingress["FromPort"] == ingress["ToPort"] == deployed_postgres.PORT
    trusted = ecs_sample().parsed["state"]["postgres"]["trusted_certificates"]
    assert added_files(DEPLOY / "ecs" / "Dockerfile") == [trusted]


# ---- With real gateways


def address(number: int) -> str:
    """Every gateway has one of its own, with the ports of the sample."""
    return f"127.0.0.{11 + number}"


def placed(settings: dict, number: int) -> str:
    """The settings with addresses of this network: of listeners, and of the pool in Cognito's place."""
    listener, admin = settings["listeners"][0]["address"], settings["admin"]["address"]
    (issuer,) = settings["issuers"]
    pool = f"{POOL}/{settings['issuers'][issuer]['user_pool_id']}"
    changes = {
        "listeners": [{"address": f"{address(number)}:{listener.split(':')[1]}"}],
        "admin": {"address": f"{address(number)}:{admin.split(':')[1]}"},
        "issuers": {issuer: {"issuer": pool, "jwks_url": f"{pool}/.well-known/jwks.json", "allow_insecure_http": True}},
        "sign_in": {"cognito": {"endpoint": POOL, "allow_insecure_http": True}},
    }
    return json.dumps(merged(settings, changes))


def start_around(deployed, found: Sample) -> None:
    """The example backend where the sample's upstream is, and a local pool with the sample's ids in Cognito's place."""
    settings = found.parsed
    ((upstream,), cognito) = settings["upstreams"].values(), settings["sign_in"]["cognito"]
    port = upstream["url"].rpartition(":")[2]
    command = Image(DEPLOY / "example-backend" / "Dockerfile").command()
    command[command.index("--port") + 1] = port
    inside = deployed.network.inside([sys.executable, *command[1:]])
    backend = Process(inside, deployed.directory / "backend.log", cwd=DEPLOY / "example-backend")
    deployed.keep(backend)
    pool = yaml.safe_load((DEPLOY / "compose" / "local-pool.yaml").read_text())
    pool["pool_id"] = settings["issuers"][cognito["issuer"]]["user_pool_id"]
    pool["client"] = {"id": cognito["client_id"], "secret": found.environment["COGNITO_CLIENT_SECRET"]}
    path = "/etc/gatehouse/local-pool.yaml"
    pool_process = deployed(
        "local-pool", IMAGE.command(["local-pool", "--config", path]), {}, {path: json.dumps(pool)}, IMAGE.user, ("local-pool",)
    ).process
    request = deployed.network.request
    pool_process.wait_ready(lambda: request("http://127.0.0.1:9229/_local/health")[0] == 200, "the local pool")
    backend.wait_ready(lambda: request(f"http://127.0.0.1:{port}/public/hello")[0] == 200, "the backend")


def start_all(deployed, found: Sample) -> list:
    """As many gateways as the sample says, at once."""
    texts = [placed(found.parsed, number) for number in range(found.count)]
    gateways = [found.start(deployed, f"{found.name}-{number}", text) for number, text in enumerate(texts)]
    for gateway in gateways:
        gateway.wait_healthy(["/usr/bin/gatehouse", "health"])
    return gateways


def session_goes_on(deployed, gateways: list) -> None:
    """It begins at the first, which is killed; it goes on at the others, and ends at all of them."""
    first, *others = range(len(gateways))

    def call(number: int, path: str, data: dict | None = None, token: str | None = None) -> tuple[int, dict]:
        status, text = deployed.network.request(f"http://{address(number)}:8080{path}", data, token)
        return status, json.loads(text or "{}")

    status, tokens = call(first, LOGIN, {"email": ADA[0], "password": ADA[1]})
    assert status == 200, tokens
    assert {call(number, WHOAMI, token=tokens["access_token"])[0] for number in [first, *others]} == {200}
    gateways[first].process.signal(signal.SIGKILL)
    gateways[first].process.wait(10)
    status, newer = call(others[0], REFRESH, {"refresh_token": tokens["refresh_token"]})
    assert status == 200, newer
    # A repeated refresh has the same result at another one.
    assert call(others[-1], REFRESH, {"refresh_token": tokens["refresh_token"]})[1]["refresh_token"] == newer["refresh_token"]
    assert call(others[-1], ME, token=newer["access_token"])[0] == 200
    assert call(others[0], LOGOUT, {"refresh_token": newer["refresh_token"]}, newer["access_token"])[0] == 204
    for number in others:
        refused = lambda: call(number, WHOAMI, token=newer["access_token"])[0] == 401  # noqa: B023, E731
        wait_until(refused, f"gateway {number} to refuse the token")
        assert call(number, REFRESH, {"refresh_token": newer["refresh_token"]})[0] == 401


def replicas_known(network) -> int:
    """How many gateways the second one lists, itself among them."""
    status, text = network.request(f"http://{address(1)}:9901/status", token=ADMIN_TOKEN)
    assert status == 200, text
    return len(json.loads(text)["replicas"])


@needs_root
def test_the_gateways_of_compose_share_one_state(deployed):
    file = compose()
    found = compose_sample(deployed_postgres.composed(deployed, file))
    assert found.count == 2
    # Nobody logs in without TLS.
    refused = deployed_postgres.login_without_tls(deployed, "127.0.0.1")
    assert "no pg_hba.conf entry" in refused.stderr and "no encryption" in refused.stderr
    start_around(deployed, found)
    gateways = start_all(deployed, found)
    session_goes_on(deployed, gateways)


@needs_root
@pytest.mark.parametrize("name, count", [("kubernetes", 3), ("ecs", 2)])
def test_the_gateways_of_an_orchestrator_share_one_state(name, count, deployed, tmp_path):
    found = sample(name, tmp_path)
    assert found.count == count
    found = found.with_authority(deployed_postgres.managed(deployed, found.database_host))
    start_around(deployed, found)
    gateways = start_all(deployed, found)
    wait_until(lambda: replicas_known(deployed.network) == count, "a gateway to know all others")
    session_goes_on(deployed, gateways)
    for gateway in gateways:
        assert not gateway.process.errors().count("key set not stored on disk")


# ---- One gateway, without a database


@needs_root
def test_one_gateway_of_compose_needs_no_database(deployed):
    """As docs/containers.md says: without the section, and with a volume."""
    found = compose_sample({})
    start_around(deployed, found)
    gateway = found.start(deployed, settings=placed(merged(found.parsed, {"state": ...}), 0))
    gateway.wait_healthy(["/usr/bin/gatehouse", "health"])
    ada = {"email": ADA[0], "password": ADA[1]}
    status, text = deployed.network.request(f"http://{address(0)}:8080{LOGIN}", ada)
    assert status == 200, text
    refreshed = {"refresh_token": json.loads(text)["refresh_token"]}
    assert deployed.network.request(f"http://{address(0)}:8080{REFRESH}", refreshed)[0] == 200
    assert (gateway.root.state / "gatehouse.sqlite").exists()


def test_the_change_for_one_pod_gives_a_deployment(tmp_path):
    """docs/kubernetes.md, laid over the manifest; volumes are replaced as a whole."""
    change = yaml.safe_load(documentation.block("kubernetes.md", "one-pod"))
    spec = change["spec"]["template"]["spec"]
    container = merged(pod()["containers"][0], spec["containers"][0])
    manifest = merged(MANIFESTS["Deployment"], merged(change, {"spec": {"template": {"spec": {"containers": [container]}}}}))
    manifest["spec"]["strategy"].pop("rollingUpdate")
    path = tmp_path / "deployment.yaml"
    path.write_text(yaml.safe_dump(manifest))
    checked(tool("kubernetes-validate"), "--strict", path)
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}
    (mount,) = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "state"]
    assert f"`state_directory: {mount}/state`" in documentation.text("kubernetes.md")


# ---- What goes wrong


@needs_root
def test_a_gateway_refuses_a_database_with_another_certificate(deployed, tmp_path):
    """The authority that the file names has not signed it."""
    found = sample("kubernetes", tmp_path)
    deployed_postgres.managed(deployed, found.database_host)
    pod = found.start(deployed, settings=placed(found.parsed, 0))
    assert pod.process.wait(30) == 78
    assert "certificate verify failed" in pod.process.log() and PASSWORD not in pod.process.log()


@needs_root
def test_a_gateway_serves_without_a_place_for_key_sets(deployed, tmp_path):
    """It says so, and does all else."""
    found = sample("kubernetes", tmp_path)
    found = found.with_authority(deployed_postgres.managed(deployed, found.database_host))
    start_around(deployed, found)
    settings = merged(found.parsed, {"state_directory": "/var/lib/gatehouse"})
    gateway = found.start(deployed, settings=placed(settings, 0))
    gateway.wait_healthy(["/usr/bin/gatehouse", "health"])
    ada = {"email": ADA[0], "password": ADA[1]}
    assert deployed.network.request(f"http://{address(0)}:8080{LOGIN}", ada)[0] == 200
    assert "key set not stored on disk" in gateway.process.errors()
