"""deploy/release.sh: what it makes is whole, says what it is made of, and installs, serves and goes again as a Debian
package does, by dpkg itself, on a copy of this machine's file system that nobody else sees."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from harness import documentation
from harness.deployment import DEPLOY, checked, needs_root
from harness.gateway import REPOSITORY, binary
from harness.sanitizer import SANITIZER

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(SANITIZER), reason="nobody releases a sanitizer's build"),
    pytest.mark.skipif(not (REPOSITORY / "Package.resolved").exists(), reason="nothing has been resolved here"),
]


def release(directory) -> None:
    # Relative paths are those of the directory that it is called in.
    environment = {**os.environ, "GATEHOUSE_BINARY": os.path.relpath(binary(), directory), "SOURCE_DATE_EPOCH": "1780000000"}
    result = subprocess.run(
        [DEPLOY / "release.sh", "--output", "."], env=environment, capture_output=True, text=True, timeout=900,
        stdin=subprocess.DEVNULL, cwd=directory,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("release")
    release(directory)
    return {path.name: path for path in directory.iterdir()}


@pytest.fixture(scope="module")
def deb(files):
    (path,) = [path for path in files.values() if path.suffix == ".deb"]
    return path


@pytest.fixture(scope="module")
def bill(files):
    (path,) = [path for path in files.values() if path.name.endswith(".cdx.json")]
    return json.loads(path.read_text())


def test_the_sums_are_those_of_all_files(files):
    directory = files["SHA256SUMS"].parent
    sums = dict(reversed(line.split()) for line in files["SHA256SUMS"].read_text().splitlines())
    assert set(sums) == {path.name for path in directory.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest


@pytest.mark.long
def test_the_same_sources_make_the_same_bytes(files, tmp_path):
    release(tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text() == files["SHA256SUMS"].read_text()


def test_the_bill_of_materials_is_cyclonedx(bill):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None


def test_the_bill_of_materials_is_whole(bill, files):
    named = {each["name"]: each for each in bill["components"]}
    resolved = json.loads((REPOSITORY / "Package.resolved").read_text())["pins"]
    for pin in resolved:
        assert named[pin["identity"]]["version"] == pin["state"]["version"]
    for package in ("libcurl4", "libnghttp2-14", "libssl3", "libsqlite3-0", "libc6", "zlib1g"):
        installed = checked("dpkg-query", "-W", "-f", "${Version}", package)
        assert named[package]["version"] == installed
    (archive,) = [path for path in files.values() if path.name.endswith(".tar.gz")]
    with tarfile.open(archive) as tar:
        (member,) = [member for member in tar.getmembers() if member.name.endswith("/bin/gatehouse")]
        digest = hashlib.sha256(tar.extractfile(member).read()).hexdigest()
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest}]


@pytest.fixture(scope="module")
def symbols() -> str:
    return checked("nm", binary())


BROUGHT_ALONG = [
    # Symbols, the component, who brings it, and what scanners know it by.
    ("CNIOBoringSSL_", "boringssl", "swift-nio-ssl", r"pkg:github/google/boringssl@[0-9a-f]{40}", "cpe:2.3:a:google:boringssl:"),
    ("c_nio_llhttp_", "llhttp", "swift-nio", r"pkg:github/nodejs/llhttp@v\d+\.\d+\.\d+", "cpe:2.3:a:llhttp:llhttp:"),
    ("yaml_parser_", "libyaml", "yams", r"pkg:github/yaml/libyaml@0\.\d+\.\d+", "cpe:2.3:a:pyyaml:libyaml:"),
    ("ucol_", "icu", "swift", r"pkg:github/unicode-org/icu@release-\d+-\d+", "cpe:2.3:a:unicode:international_components_for_unicode:"),
]


@pytest.mark.parametrize("symbol, name, owner, purl, cpe", BROUGHT_ALONG, ids=[f"{each[1]} in {each[2]}" for each in BROUGHT_ALONG])
def test_the_bill_of_materials_names_what_others_bring_along_as_sources(bill, symbols, symbol, name, owner, purl, cpe):
    """An advisory is about BoringSSL, not about swift-nio-ssl; what is not in the binary is no component."""
    by_reference = {each["bom-ref"]: each for each in bill["components"]}
    (bringer,) = [each for each in bill["components"] if each["name"] == owner]
    (dependencies,) = [each.get("dependsOn", []) for each in bill["dependencies"] if each["ref"] == bringer["bom-ref"]]
    found = [by_reference[reference] for reference in dependencies if by_reference[reference]["name"] == name]
    assert len(found) == (1 if re.search(rf"(?m) [tT] {symbol}", symbols) else 0)
    for component in found:
        assert re.fullmatch(purl, component["purl"]) and component["cpe"].startswith(cpe + component["version"][:3])


def test_the_listeners_tls_is_in_the_bill_of_materials(bill):
    named = {each["name"] for each in bill["components"]}
    assert {"boringssl", "llhttp", "libyaml"} <= named


def test_the_package_depends_on_what_the_binary_links(deb):
    depends = checked("dpkg-deb", "--field", deb, "Depends")
    for package in ("libcurl4", "libnghttp2-14", "libssl3", "libsqlite3-0", "zlib1g", "ca-certificates"):
        assert package in depends
    assert re.search(r"libc6 \(>= 2\.\d+\)", depends)


def test_the_manual_has_every_command_and_is_good_roff(deb, tmp_path):
    checked("dpkg-deb", "--extract", deb, tmp_path)
    page = tmp_path / "gatehouse.1"
    page.write_bytes(subprocess.run(["zcat", tmp_path / "usr/share/man/man1/gatehouse.1.gz"], capture_output=True).stdout)
    for command in ("serve", "check", "health", "token verify", "keys rotate", "local\\-pool"):
        assert f'.SS "gatehouse {command}"' in page.read_text()
    shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
    assert shown.returncode == 0 and not [line for line in shown.stderr.splitlines() if "can't break line" not in line]


@pytest.fixture(scope="module")
def unpacked(deb, tmp_path_factory):
    directory = tmp_path_factory.mktemp("unpacked")
    checked("dpkg-deb", "--extract", deb, directory)
    return directory


def test_lintian_finds_no_fault_in_the_package(deb):
    assert shutil.which("lintian"), "no lintian: run deploy/test.sh"
    # A binary of a debug build, which nobody releases, finds the runtime where the compiler is.
    result = subprocess.run(
        ["lintian", "--allow-root", "--no-tag-display-limit", "--suppress-tags", "custom-library-search-path", deb],
        capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL,
    )
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_an_override_of_lintian_has_its_reason():
    lines = (DEPLOY / "debian" / "gatehouse.lintian-overrides").read_text().splitlines()
    assert all(line.startswith("#") or before.startswith("# ") for before, line in zip(["", *lines], lines, strict=False))


def test_the_package_has_the_documents(unpacked):
    """Their links are test_release_documents.py's."""
    directory = unpacked / "usr/share/doc/gatehouse"
    for name in ("deploy/prometheus/gatehouse.rules.yaml", "deploy/grafana/gatehouse.json", "deploy/openapi.yaml",
                 "deploy/openapi-admin.yaml"):
        assert (directory / name).read_bytes() == (REPOSITORY / name).read_bytes()
    for name in ("README.md", "SECURITY.md", "examples/gatehouse.yaml", "docs/runbook.md", "docs/running.md"):
        assert (directory / name).is_file(), name
    # Each alert leads to a chapter that is there.
    rules = (directory / "deploy/prometheus/gatehouse.rules.yaml").read_text()
    urls = re.findall(r"runbook_url: (\S+)#", rules)
    assert len(urls) == rules.count("- alert:")
    assert all((unpacked / url.removeprefix("file:///")).is_file() for url in urls)


def test_the_copyright_file_has_the_terms_of_all_that_is_compiled_in(unpacked):
    text = (unpacked / "usr/share/doc/gatehouse/copyright").read_text()
    for pin in json.loads((REPOSITORY / "Package.resolved").read_text())["pins"]:
        assert f"\n{pin['identity']} {pin['state']['version']}, " in text
    # None is granted as long as the sources hold none.
    assert "none has been granted" in text and not list(REPOSITORY.glob("LICENSE*"))
    for holder in ("Gwendal Roué", "JP Simard", "Fedor Indutny", "code from boringssl", "Runtime Library Exception"):
        assert holder in text


def test_completions_are_no_programs(unpacked):
    share = unpacked / "usr/share"
    bash = share / "bash-completion/completions/gatehouse"
    for path in (bash, share / "zsh/vendor-completions/_gatehouse", share / "fish/vendor_completions.d/gatehouse.fish"):
        assert not path.read_text().startswith("#!")
    assert (share / "zsh/vendor-completions/_gatehouse").read_text().startswith("#compdef gatehouse")
    checked("bash", "-c", f"source {shlex.quote(str(bash))} && complete -p gatehouse")


def test_the_archive_has_what_the_package_has(files, unpacked):
    (path,) = [path for path in files.values() if path.name.endswith(".tar.gz")]
    with tarfile.open(path) as tar:
        content = {member.name.partition("/")[2]: tar.extractfile(member).read() for member in tar if member.isfile()}
    packaged = {str(each.relative_to(unpacked)): each for each in unpacked.rglob("*") if each.is_file()}
    for name, each in packaged.items():
        if not name.startswith(("etc/", "usr/share/lintian/")):
            assert content[name.removeprefix("usr/")] == each.read_bytes(), name
    assert "lib/systemd/system/gatehouse.service" in content
    # The files that the package has in /etc are installed from the examples.
    examples = set(re.findall(r"/usr/(share/doc/gatehouse/examples/\S+)", documentation.text("running.md")))
    assert len(examples) == 2 and examples <= set(content)
    logrotate = content["share/doc/gatehouse/examples/gatehouse.logrotate"]
    assert logrotate == packaged["etc/logrotate.d/gatehouse"].read_bytes()
    starter = content["share/doc/gatehouse/examples/starter.yaml"]
    assert starter == packaged["etc/gatehouse/gatehouse.yaml"].read_bytes()
    # The files that the copyright file refers to are not on every system.
    assert b"Apache License" in content["share/doc/gatehouse/Apache-2.0"]


def test_the_libraries_that_the_binary_links_are_named(unpacked):
    head = subprocess.run(["objdump", "-p", unpacked / "usr/bin/gatehouse"], capture_output=True, text=True, check=True).stdout
    if "libswiftCore.so" in head:
        pytest.skip("a debug build links the Swift runtime")
    glibc = r"(?:libc|libm|libpthread|libdl|ld-linux\S*)\.so\.\d+"
    linked = {name for name in re.findall(r"NEEDED\s+(\S+)", head) if not re.fullmatch(glibc, name)}
    links = documentation.text("running.md").split("It links these libraries of the system: ")[1].split("`state.postgres`")[0]
    assert set(re.findall(r"`(\S+\.so\.\d+)`", links)) == linked


INSTALLATION = r"""
set -eux
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/all"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/all"
mount -t proc proc "$1/all/proc"
mount --rbind /dev "$1/all/dev"
mount -t tmpfs tmpfs "$1/all/run"
cp "$2" "$1/all/gatehouse.deb"
exec chroot "$1/all" bash -eux -c "$3"
"""

LIFE = r"""
# Nobody looks anything up in the manuals of the copy, whose index each call of dpkg would make anew.
rm -f /var/lib/man-db/auto-update
ip link set lo up 2>/dev/null || python3 -c "import fcntl,socket,struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 0x41, b''))"
dpkg -i --force-depends /gatehouse.deb
test "$(stat -c '%U:%G %a' /var/lib/gatehouse)" = "gatehouse:gatehouse 700"
test "$(stat -c '%U:%G %a' /etc/gatehouse/gatehouse.yaml)" = "root:gatehouse 640"
test "$(getent passwd gatehouse | cut -d: -f7)" = /usr/sbin/nologin
test "$(dpkg-query -W -f '${Conffiles}' gatehouse | grep -c /etc/logrotate.d/gatehouse)" = 1

# The commands that the settings, the unit and the runbook name take it, also where secrets are kept elsewhere.
test "$(stat -c '%U:%G %a' /etc/gatehouse/environment)" = "root:root 600"
gatehouse check --environment-file /etc/gatehouse/environment

# Files that root makes beside the service belong to the service. Only root reads its secrets.
echo 'SOME_SECRET=0123456789abcdef' >> /etc/gatehouse/environment
gatehouse keys generate --environment-file /etc/gatehouse/environment --purpose sealing
test "$(stat -c '%U:%G %a' /var/lib/gatehouse/sealing-keys.json)" = "gatehouse:gatehouse 600"

# As the unit starts it.
setpriv --reuid gatehouse --regid gatehouse --clear-groups START & pid=$!
for try in $(seq 200); do gatehouse health && break; sleep 0.1; done
gatehouse health
test "$(stat -c %U /proc/$pid)" = gatehouse
kill -TERM $pid
wait $pid

# An upgrade keeps what the operator has written, and the state.
echo '# mine' >> /etc/gatehouse/gatehouse.yaml
touch /var/lib/gatehouse/kept
dpkg -i --force-depends /gatehouse.deb
grep -q '^# mine' /etc/gatehouse/gatehouse.yaml
grep -q '^SOME_SECRET=' /etc/gatehouse/environment
test -e /var/lib/gatehouse/kept
dpkg --verify gatehouse | grep -v '/etc/gatehouse/gatehouse.yaml' && exit 1

dpkg --remove gatehouse
test ! -e /usr/bin/gatehouse
test -e /var/lib/gatehouse/kept
test -e /etc/gatehouse/environment
dpkg --purge gatehouse
test ! -e /var/lib/gatehouse
test ! -e /etc/gatehouse
test ! -e /etc/logrotate.d/gatehouse
! getent passwd gatehouse
echo INSTALLED AND GONE
"""


@needs_root
def test_it_installs_serves_upgrades_and_goes(deb, tmp_path):
    unit = (DEPLOY / "systemd" / "gatehouse.service").read_text()
    life = LIFE
    (line,) = re.findall(r"(?m)^ExecStart=(.*)$", unit)
    life = re.sub(r"\bSTART\b", shlex.join(shlex.split(line)), life)
    # A network of its own, since the package's ports are whoever's on this machine; processes that end with it.
    namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    command = [*namespaces, "bash", "-c", INSTALLATION, "sh", tmp_path, deb, life]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert result.returncode == 0 and "INSTALLED AND GONE" in result.stdout, result.stdout + result.stderr[-4000:]
    # Nothing of it is on this machine.
    assert subprocess.run(["dpkg-query", "-W", "gatehouse"], capture_output=True).returncode != 0
