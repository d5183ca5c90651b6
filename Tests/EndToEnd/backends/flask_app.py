"""Resources that say who serves them, by Flask: for gunicorn, waitress, cheroot and Werkzeug's own server.

Each body says what the server itself made of the request: its resource, method, host, scheme, client and user.
"""

import json
import os

from flask import Flask, request
from werkzeug.middleware.proxy_fix import ProxyFix

app = Flask(__name__)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
if os.environ.get("PROXY_FIX"):
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1, x_port=1, x_prefix=1)


def told(resource: str):
    said = {
        "resource": resource, "method": request.method, "host": request.host, "scheme": request.scheme,
        "client": request.remote_addr, "user": request.remote_user or request.headers.get("Remote-User"),
    }
    return json.dumps(said), 404 if resource == "none" else 200, {"Content-Type": "application/json"}


@app.route("/gu/<path:rest>", methods=METHODS)
def public(rest: str):
    return told("gu")


@app.route("/gu/staff/<path:rest>", methods=METHODS)
def staff(rest: str):
    return told("staff")


@app.route("/admin/<path:rest>", methods=METHODS)
def admin(rest: str):
    return told("admin")


@app.route("/users/<owner>/<path:rest>", methods=METHODS)
def user(owner: str, rest: str):
    return told(f"user {owner}")


@app.errorhandler(404)
def nothing(_):
    return told("none")


if __name__ == "__main__":
    # Werkzeug's own server, as `flask run` starts it.
    app.run("127.0.0.1", int(os.environ["PORT"]), threaded=True)
