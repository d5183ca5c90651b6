"""`gatehouse audit-app` on archives, which Python's own library makes."""

import io
import json
import plistlib
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest
from harness.gateway import binary, gatehouse
from harness.sanitizer import PATIENCE, SANITIZER

POOL = '{ "PoolId": "eu-west-1_AbCdEfGhI" }\n'
BUNDLE = bytes.fromhex("c61fbc03") + b"fooAWSCognitoIdentityProviderService.InitiateAuthbar"


def dex(*strings: str) -> bytes:
    return b"dex\n035\0" + b"".join(bytes([len(each)]) + each.encode() + b"\0" for each in strings)


def archive(path: Path, entries: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, contents in entries.items():
            file.writestr(name, contents)
    return path


def report(path: Path) -> dict:
    return json.loads(gatehouse("audit-app", "--json", path).stdout)


def found(document: dict) -> set[tuple[str, str]]:
    return {(each["path"], each["rule"]) for each in document["findings"]}


def test_an_ios_app_is_read_with_its_property_lists_and_programs(tmp_path):
    app = "Payload/Shop.app/"
    info = plistlib.dumps({"CognitoUserPoolId": "eu-west-1_AbCdEfGhI", "CFBundleName": "Shop"}, fmt=plistlib.FMT_BINARY)
    path = archive(
        tmp_path / "shop.ipa",
        {
            app: b"",
            app + "Info.plist": info,
            app + "Shop": bytes.fromhex("cffaedfe00") + b"AWSCognitoAuthPlugin\0" + bytes(100_000),
            app + "amplifyconfiguration.json": "{}",
            app + "icon.png": bytes(100),
            app + "main.jsbundle": 'var h="https://cognito-idp.eu-west-1.amazonaws.com/";',
        },
    )
    result = gatehouse("audit-app", path)
    assert result.returncode == 1 and "shop.ipa!/Payload/Shop.app/Shop: error: " in result.stdout
    document = report(path)
    assert found(document) == {
        (f"shop.ipa!/{app}Info.plist", "cognito-plist-key"),
        (f"shop.ipa!/{app}Info.plist", "user-pool-id"),
        (f"shop.ipa!/{app}Shop", "cognito-sdk"),
        (f"shop.ipa!/{app}amplifyconfiguration.json", "amplify-configuration"),
        (f"shop.ipa!/{app}main.jsbundle", "cognito-host"),
    }
    assert document["files"] == 4 and document["not_read"] == []


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_android_app_is_read_with_its_code_and_the_apps_inside_it(tmp_path, method):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", method) as file:
        file.writestr("classes.dex", dex("Lcom/amplifyframework/auth/cognito/AWSCognitoAuthPlugin;", "Lokhttp3/Call;"))
        file.writestr("assets/index.android.bundle", BUNDLE)
        file.writestr("lib/arm64-v8a/libapp.so", b"\x7fELF\0" + b"package:amplify_auth_cognito/amplify_auth_cognito.dart\0")
    path = archive(tmp_path / "shop.apks", {"base.apk": inner.getvalue(), "res/raw/awsconfiguration.json": POOL}, method)
    assert found(report(path)) == {
        ("shop.apks!/base.apk!/classes.dex", "amplify-auth"),
        ("shop.apks!/base.apk!/classes.dex", "cognito-sdk"),
        ("shop.apks!/base.apk!/assets/index.android.bundle", "cognito-target"),
        ("shop.apks!/base.apk!/lib/arm64-v8a/libapp.so", "cognito-sdk"),
        ("shop.apks!/res/raw/awsconfiguration.json", "amplify-configuration"),
        ("shop.apks!/res/raw/awsconfiguration.json", "user-pool-id"),
    }


def test_an_app_of_the_gateway_alone_is_good(tmp_path):
    path = archive(tmp_path / "shop.aab", {"base/dex/classes.dex": dex("Lcom/example/Gateway;", "https://api.example.com/api/v1/auth/login")})
    result = gatehouse("audit-app", "--fail-on", "warning", path)
    assert (result.returncode, result.stdout) == (0, "1 file read: 0 errors, 0 warnings, 0 notes\n")


def damaged(path: Path) -> tuple[Path, str]:
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"a.json") + 10] ^= 0xFF
    path.write_bytes(raw)
    return path, "is damaged"


def encrypted(path: Path) -> tuple[Path, str]:
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    return path, "is encrypted"


def truncated(path: Path) -> tuple[Path, str]:
    path.write_bytes(path.read_bytes()[:-5])
    return path, "is not a ZIP archive, or is truncated"


def leading_out(path: Path) -> tuple[Path, str]:
    return archive(path, {"../../a.json": POOL}), "has a path that leads out of its archive"


def compressed_otherwise(path: Path) -> tuple[Path, str]:
    return archive(path, {"a.json": POOL}, zipfile.ZIP_LZMA), "has a compression that is not known"


def of_64_bits(path: Path) -> tuple[Path, str]:
    with zipfile.ZipFile(path, "w") as file, file.open("a.json", "w", force_zip64=True) as entry:
        entry.write(POOL.encode())
    raw = bytearray(path.read_bytes())
    end = raw.rindex(b"PK\x05\x06")
    raw[end + 8 : end + 12] = b"\xff" * 4
    path.write_bytes(raw)
    return path, "is a ZIP64 archive, which is not read"


@pytest.mark.parametrize("make", [damaged, encrypted, truncated, leading_out, compressed_otherwise, of_64_bits])
def test_an_archive_that_cannot_be_read_whole_fails_the_audit(tmp_path, make):
    path, reason = make(archive(tmp_path / "app.apk", {"a.json": POOL}))
    result = gatehouse("audit-app", path)
    assert result.returncode == 1 and reason in result.stdout
    document = report(path)
    assert document["good"] is False and reason in {each["reason"] for each in document["not_read"]}
    assert not (tmp_path.parent / "a.json").exists()


def overlapping(entries: int, size: int) -> bytes:
    """Many entries of one piece of data, each of which expands to `size` zeros."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.json", bytes(size))
    one = raw.getvalue()
    start = one.index(b"PK\x01\x02")
    end = one.index(b"PK\x05\x06")
    directory = one[start:end] * entries
    return one[:start] + directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, entries, entries, len(directory), start, 0)


def test_hostile_archives_take_little_memory_and_time(tmp_path):
    """A program of zeros, entries that share their data, and archives inside archives."""
    bomb = tmp_path / "bomb.apk"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file, file.open("a.so", "w") as entry:
        for _ in range(256):
            entry.write(bytes(1 << 20))
    (tmp_path / "shared.apk").write_bytes(overlapping(1000, 1 << 20))
    inner = POOL.encode()
    for depth in range(6):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a.json" if depth == 0 else "a.apk", inner)
        inner = buffer.getvalue()
    (tmp_path / "deep.apk").write_bytes(inner)
    limit = [] if SANITIZER else ["prlimit", "--data=300000000"]
    command = [*limit, str(binary()), "audit-app", "--json", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=20 * PATIENCE)
    assert result.returncode == 1, result.stderr
    reasons = {each["path"].split("!")[0]: each["reason"] for each in json.loads(result.stdout)["not_read"]}
    assert reasons == {
        "bomb.apk": "expands to too much",
        "deep.apk": "is an archive too deep inside others",
        "shared.apk": "has entries that overlap",
    }
