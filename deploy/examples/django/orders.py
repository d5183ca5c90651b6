"""The smallest Django service behind Gatehouse, in one file: it reads the identity headers and verifies the assertion.

    pip install -r requirements.txt
    GATEHOUSE_URL=http://127.0.0.1:8080 gunicorn orders:application --bind 127.0.0.1:8000

The gateway needs `identity: {assertion: {issuer: https://api.example.com}}` and an upstream called `api`.
"""

import os
from urllib.parse import unquote

import jwt
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

# The gateway's address for this service, the `iss` of its assertions, and their `aud`: the name of the upstream.
GATEWAY = os.environ.get("GATEHOUSE_URL", "http://127.0.0.1:8080")
ISSUER = os.environ.get("GATEHOUSE_ISSUER", "https://api.example.com")
AUDIENCE = os.environ.get("GATEHOUSE_AUDIENCE", "api")

# Cached for five minutes. An unknown key causes a fetch, at most every 30 seconds.
KEYS = jwt.PyJWKClient(f"{GATEWAY}/.well-known/gatehouse/jwks.json", lifespan=300, timeout=5)


def whoami(request: HttpRequest) -> HttpResponse:
    """The caller by the headers, which are good only where nobody reaches this port around the gateway."""
    subject = request.headers.get("X-Auth-Subject")
    if not subject:
        return HttpResponse(status=401)
    groups = [unquote(group) for group in request.headers.get("X-Auth-Groups", "").split(",") if group]
    return JsonResponse({"subject": unquote(subject), "groups": groups})


def orders(request: HttpRequest) -> HttpResponse:
    """The caller by the assertion alone, which nobody but the gateway can make."""
    assertion = request.headers.get("X-Auth-Assertion", "")
    try:
        decoded = jwt.decode_complete(
            assertion,
            KEYS.get_signing_key_from_jwt(assertion),
            algorithms=["ES256"],
            issuer=ISSUER,
            audience=AUDIENCE,
            leeway=5,
            options={"require": ["iss", "aud", "sub", "iat", "exp"]},
        )
    except jwt.PyJWKClientConnectionError:
        return HttpResponse(status=503)
    except jwt.PyJWTError:
        return HttpResponse(status=401)
    if decoded["header"].get("typ") != "gatehouse-assertion+jwt":
        return HttpResponse(status=401)
    caller = decoded["payload"]
    return JsonResponse({"orders_of": caller["sub"], "groups": caller["groups"]})


urlpatterns = [path("api/v1/whoami", whoami), path("api/v1/orders", orders)]
# The gateway decides which hosts are served: `server_names` of its listener.
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[])
application = get_wsgi_application()
