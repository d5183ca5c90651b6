"""boto3 as an independent Cognito client, unsigned as an app's SDK is."""

import base64
import hashlib
import hmac

import boto3
from botocore import UNSIGNED
from botocore.config import Config

from .sanitizer import PATIENCE


def cognito_client(url: str):
    return boto3.client(
        "cognito-idp",
        region_name="eu-central-1",
        endpoint_url=url,
        config=Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1}, read_timeout=10 * PATIENCE),
    )


def secret_hash(username: str, client_id: str, secret: str) -> str:
    digest = hmac.new(secret.encode(), (username + client_id).encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
