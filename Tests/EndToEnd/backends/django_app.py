"""The resources of flask_app.py by Django, which believes its proxy as its documentation has it: for Daphne and gunicorn."""

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

settings.configure(
    DEBUG=False, SECRET_KEY="of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, USE_X_FORWARDED_HOST=True,
    USE_X_FORWARDED_PORT=False, SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"), APPEND_SLASH=False,
)
django.setup(set_prefix=False)


def told(request: HttpRequest, resource: str) -> JsonResponse:
    said = {
        "resource": resource, "method": request.method, "host": request.get_host(), "scheme": request.scheme,
        "client": request.META.get("REMOTE_ADDR"),
        "user": request.META.get("REMOTE_USER") or request.META.get("HTTP_REMOTE_USER"),
    }
    return JsonResponse(said, status=404 if resource == "none" else 200)


def handler404(request: HttpRequest, exception: Exception) -> JsonResponse:
    return told(request, "none")


def telling(resource: str):
    def view(request: HttpRequest, rest: str, owner: str = "") -> JsonResponse:
        return told(request, resource.format(owner=owner))

    return view


urlpatterns = [
    path("gu/staff/<path:rest>", telling("staff")),
    path("gu/<path:rest>", telling("gu")),
    path("admin/<path:rest>", telling("admin")),
    path("users/<str:owner>/<path:rest>", telling("user {owner}")),
]
wsgi = get_wsgi_application()
asgi = get_asgi_application()
