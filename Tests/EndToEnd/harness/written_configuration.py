"""Configurations as documents show them: whole ones, and fragments that are put into one. Files and variables that they
name are made for the test."""

import base64
import json
import re
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .certificates import Authority
from .gateway import merged
from .keys import SigningKey

BASE = {
    "listeners": [{"address": "127.0.0.1:8080"}],
    "upstreams": {"api": {"url": "http://127.0.0.1:8000"}},
    "issuers": {
        "pool": {"profile": "cognito", "user_pool_id": "eu-central-1_AbCdEfGhI", "client_ids": ["1example23456789abcdefghij"]}
    },
    "routes": [{"name": "api", "path": "/api/v1/**", "upstream": "api"}],
}
REQUIRED = {"listeners", "upstreams", "routes"}
# As long as HMAC with SHA-512 needs it and an app client's secret can be.
SECRET = "not-a-real-secret-".ljust(64, "0")
SEALING_KEY = "k1:" + base64.b64encode(bytes(range(32))).decode()


def whole(fragment: dict, directory: Path) -> dict:
    """A configuration with the fragment in it. Files that it names are made in `directory`."""
    config = fragment if REQUIRED <= fragment.keys() else merged(_base(fragment), fragment)
    return {**_with_files(config, directory), "state_directory": str(directory / "state")}


def _base(fragment: dict) -> dict:
    """Without what stands in the fragment in another form: one server, or a pool."""
    upstreams = {name: each for name, each in BASE["upstreams"].items() if "servers" not in (fragment.get("upstreams") or {}).get(name, {})}
    issuers = {name: each for name, each in BASE["issuers"].items() if "profile" not in (fragment.get("issuers") or {}).get(name, {})}
    return {**BASE, "upstreams": upstreams, "issuers": issuers}


def environment(config: dict) -> dict[str, str]:
    """A value for each variable that the configuration names."""
    names = set(re.findall(r"(?<!\$)\$\{(\w+)\}", json.dumps(config)))
    return {name: _value(name) for name in names}


def _value(name: str) -> str:
    kinds = [("PORT", "8080"), ("SEALING", SEALING_KEY), ("URL", "https://example.com"), ("AUTH", f"Bearer {SECRET}")]
    # Each token is another one.
    kinds.append(("TOKEN", f"{SECRET}-{name}"))
    return next((value for part, value in kinds if part in name), SECRET)


def _with_files(value, directory: Path, key: str = ""):
    if isinstance(value, dict):
        return {name: _with_files(each, directory, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_files(each, directory, key) for each in value]
    if not isinstance(value, str) or value.startswith("${"):
        return value
    if value.startswith("file:"):
        return f"file:{_secret_file(directory, key)}"
    if key in ("certificate", "key", "ca", "client_ca"):
        issued = Authority(directory).issue("api.example.com")
        return {"certificate": str(issued.certificate), "key": str(issued.key)}.get(key, str(directory / "authority.pem"))
    if key == "jwks_file":
        path = directory / "keys.json"
        path.write_text(json.dumps({"keys": [SigningKey("k1").jwk()]}))
        return str(path)
    return value


def _secret_file(directory: Path, key: str) -> Path:
    text = SEALING_KEY if key == "sealing_keys" else SECRET
    if key == "private_key":
        made = ec.generate_private_key(ec.SECP256R1())
        text = made.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
    path = directory / f"secret-{key or 'value'}"
    path.write_text(text + "\n")
    path.chmod(0o600)
    return path
