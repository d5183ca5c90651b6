"""PostgreSQL in the network of deployed commands: at its own port, with a certificate for the name that they call it by."""

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

from .certificates import Authority
from .deployment import DEPLOY
from .postgres import PASSWORD, SUPERUSER, USER, PostgresServer, binaries

PORT = 5432
# Where gateways and PostgreSQL have their secrets, in deploy/compose.yaml.
SECRETS = "/run/secrets"


def managed(deployed, host: str) -> str:
    """A server as a provider has it, with the role and the database of gateways; the authority's certificate in PEM.

    Connections over the network need TLS.
    """
    authority = Authority(deployed.directory / "database")
    issued = authority.issue(host)
    server = _server(deployed)
    names = {name: str(_given(server, path)) for name, path in (("cert", issued.certificate), ("key", issued.key))}
    hba = server.directory / "pg_hba.conf"
    hba.write_text("local all all trust\nhostssl all all all scram-sha-256\n")
    server.start({"ssl": "on", "hba_file": str(hba), **{f"ssl_{name}_file": path for name, path in names.items()}})
    return authority.pem.read_text()


def composed(deployed, file: dict) -> dict[str, str]:
    """The server of a compose file, set up as PostgreSQL's image does it; the files of the gateways' secrets."""
    service = file["services"]["postgres"]
    gateways, own = deployed.directory / "gateway-secrets", deployed.directory / "postgres-secrets"
    for directory in (gateways, own):
        directory.mkdir()
    make_secrets(gateways, own)
    server = _server(deployed)
    secrets = _given(server, own)
    sources = {config["target"]: DEPLOY / file["configs"][config["source"]]["file"] for config in service["configs"]}
    # As the image does with a new volume. The template has a role and a database already.
    server.start()
    server.sql(f"DROP DATABASE {USER}", database="postgres")
    server.sql(f"DROP ROLE {USER}", database="postgres")
    (script,) = [path for target, path in sources.items() if target.startswith("/docker-entrypoint-initdb.d/")]
    text = script.read_text()
    assert SECRETS in text
    place = ["-h", str(server.directory), "-p", str(PORT), "-U", SUPERUSER, "-d", "postgres"]
    command = [str(binaries() / "psql"), *place, "-X", "-v", "ON_ERROR_STOP=1"]
    subprocess.run(command, input=text.replace(SECRETS, str(secrets)), text=True, check=True, capture_output=True)
    server.stop()
    options = dict(re.findall(r"-c (\w+)=(\S+)", " ".join(service["command"])))
    files = {SECRETS: secrets, **{target: _given(server, path) for target, path in sources.items()}}
    for target, path in files.items():
        options = {name: value.replace(target, str(path)) for name, value in options.items()}
    assert options["ssl"] == "on" and Path(options["hba_file"]).parent == server.directory
    server.start(options)
    return {f"{SECRETS}/{path.name}": path.read_text() for path in gateways.iterdir()}


def make_secrets(gateways: Path, own: Path) -> None:
    """As the service `secrets` does it: as root, with one capability."""
    command = ["setpriv", "--bounding-set=-all,+chown", "--inh-caps=-all", "--", "sh", str(DEPLOY / "compose" / "make-secrets.sh")]
    result = subprocess.run([*command, str(gateways), str(own)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def login_without_tls(deployed, host: str) -> subprocess.CompletedProcess:
    """A connection of the gateways' role over the network that does not want TLS."""
    place = f"host={host} port={PORT} user={USER} dbname={USER} password={PASSWORD} sslmode=disable"
    command = [str(binaries() / "psql"), "-XAtqc", "SELECT 1", place]
    return subprocess.run(deployed.network.inside(command), capture_output=True, text=True, timeout=30)


def _server(deployed) -> PostgresServer:
    server = PostgresServer(deployed.directory, "postgres", port=PORT, within=deployed.network.inside([]))
    deployed.keep(SimpleNamespace(stop=server.remove))
    return server


def _given(server: PostgresServer, path: Path) -> Path:
    """A copy that the server reads, and nobody else."""
    copy = server.directory / path.name
    if path.is_dir():
        shutil.copytree(path, copy)
    else:
        shutil.copyfile(path, copy)
    owner = server.directory.stat()
    for each in [copy, *(copy.iterdir() if copy.is_dir() else [])]:
        shutil.chown(each, owner.st_uid, owner.st_gid)
        each.chmod(0o700 if each.is_dir() else 0o600)
    return copy
