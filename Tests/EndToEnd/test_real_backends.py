"""Real servers and frameworks behind the gateway: no header, spelling of a path or override of a method that a client
sends takes a request to another resource than its route's, or makes it somebody else's. Each server says itself which
resource it served, and for whom."""

import json

import pytest
from harness import raw
from harness.gateway import Gateway, check, gatehouse, gateway_config
from harness.process import SILENT_PORT
from harness.servers import SERVERS, Server

SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"
OTHER = "11111111-0000-4000-8000-1234567890ab"

# Names that some server takes for the path, the method, or an instruction of its own. Independent of the gateway's table.
STEERING = """
    script-name path-info path-translated x-script-name x-forwarded-prefix x-forwarded-path x-forwarded-uri daphne-root-path
    root-path x-root-path request-uri request-url document-uri query-string x-original-url x-original-uri x-original-path
    x-rewrite-url x-rewrite-uri unencoded-url x-waws-unencoded-url x-envoy-original-path x-replaced-path x-cf-forwarded-url
    x-vhm-root x-ingress-path x-matched-path x-now-route-matches x-invoke-path x-middleware-subrequest
    x-middleware-rewrite x-accel-redirect x-accel-mapping x-accel-internal x-sendfile x-sendfile-type destination
    x-proxy-url x-http-destinationurl x-request-uri http-script-name http-path-info http-x-original-url php-self
    redirect-url orig-path-info orig-script-name x-apigateway-event spring-cloud-function-definition
    x-http-method x-http-method-override x-method-override request-method method-override
""".split()
# Names that some server takes for host, scheme, client address or identity.
CLAIMING = """
    x-host x-forwarded-host x-http-host-override forwarded-host server-name server-port http-host x-forwarded-server
    x-scheme x-url-scheme x-forwarded-proto x-forwarded-protocol x-forwarded-scheme x-forwarded-ssl front-end-https https
    x-forwarded-port x-https forwarded x-forwarded-for x-forwarded x-real-ip x-client-ip client-ip x-cluster-client-ip
    true-client-ip cf-connecting-ip fastly-client-ip x-originating-ip x-remote-ip x-remote-addr remote-addr x-azure-clientip
    x-appengine-user-ip proxy-client-ip wl-proxy-client-ip fly-client-ip remote-user remote-groups x-remote-user auth-user
    auth-type x-forwarded-user x-forwarded-email x-forwarded-groups x-forwarded-preferred-username
    x-forwarded-access-token x-auth-request-user x-auth-request-email http-remote-user http-x-auth-subject x-ssl-client-dn
    ssl-client-cert ssl-client-escaped-cert ssl-client-s-dn ssl-cipher ssl-session-id
    x-client-cert x-client-cert-subject x-amzn-oidc-identity x-amzn-oidc-data
    x-ms-client-principal x-ms-client-principal-name x-goog-authenticated-user-email x-goog-iap-jwt-assertion
    cf-access-authenticated-user-email tailscale-user-login impersonate-user x-consumer-username x-webauth-user
    oidc-claim-sub shib-session-id eppn sm-user iv-user proxy php-auth-user x-authentik-username
""".split()

# Spellings of the way to the stricter routes.
SPELLINGS = """
    /gu/../admin/secret /gu/%2e%2e/admin/secret /gu/.%2e/admin/secret /gu/..%2fadmin/secret /gu/..%5cadmin/secret
    /gu/..;/admin/secret /gu/..;x=y/admin/secret /gu/x/..%3b/../admin/secret /gu/%252e%252e/admin/secret
    /gu/x/../../admin/secret /gu//../admin/secret /gu/./../admin/secret /gu/..//admin/secret /gu/%c0%ae%c0%ae/admin/secret
    /gu/%ef%bc%8e%ef%bc%8e/admin/secret /gu/..%00/admin/secret /gu/..%0a/admin/secret /gu/%09../admin/secret /gu/..
    /gu/..%2f..%2fadmin%2fsecret //admin/secret ///admin/secret /./admin/secret /%2fadmin/secret /%2e/admin/secret
    /;/admin/secret /admin;/secret /admin;a=b/secret /admin%3b/secret /admin/secret/ /admin//secret /admin/./secret
    /%61dmin/secret /%2561dmin/secret /admin%2fsecret /admin%5csecret /admin\\secret /\\admin\\secret /gu\\..\\admin\\secret
    /admin%00/secret /admin%0a/secret /admin%20/secret /admin/secret%0a /admin/secret%23 /admin/secret%3f /admin/secret?x
    /gu/x#/../admin/secret /gu%2f..%2fadmin/secret /gu/staff%2fsecret /gu//staff/secret /gu/./staff/secret
    /gu/;/staff/secret /gu/staff;/secret /gu/%73taff/secret /gu/x/../staff/secret /gu/staff/ /gu/staff%0a/secret
    /ADMIN/secret /Admin/Secret /gu/STAFF/secret /gu/Staff /gu/staFF/ /gu/%53taff/secret /gu/STAFF;/x /GU/staff/secret
    /gu/staff /gu/staff;x /gu/staff;/ /gu;/staff/secret /gu/.;/staff/secret /gu/%2e;/staff/secret /gu/x/..;/staff/secret
    /gu/x;/../staff/secret /gu/%2e%2e;/admin/secret /;x/admin/secret /gu/%2fstaff/secret /gu/x%2f..%2fstaff/secret
    /gu/x%5c..%5cstaff/secret /gu%5cstaff%5csecret /gu/x\\..\\staff\\secret /gu\\staff\\secret /users;x/y/photo /users/;/y
    /gu/%C5%BFtaff/secret /%C4%B0tem /USERS/x/photo
    http://gateway.test/admin/secret http://gateway.test//admin/secret gateway.test/admin/secret *
""".split()


def settings(url: str, server: Server) -> dict:
    upstream = {"url": url, "paths": "case_insensitive" if server.ignores_case else "case_sensitive"}
    route = {"upstream": "real"}
    return {
        "threads": 1,
        "upstreams": {"real": upstream},
        "routes": [
            {"name": "gu", "path": "/gu/**", "access": "public", **route},
            {"name": "staff", "path": "/gu/staff/**", "access": "required", "require": {"groups": {"all": ["staff"]}}, **route},
            {"name": "admin", "path": "/admin/**", "access": "required", "require": {"groups": {"all": ["staff"]}}, **route},
            {"name": "own", "path": "/users/{sub}/**", "access": "required", **route},
            {"name": "item", "path": "/gu/item", "methods": ["GET", "POST"], "access": "public", **route},
            {"name": "item-delete", "path": "/gu/item", "methods": ["DELETE"], "access": "required", **route},
        ],
    }


BEHIND = [pytest.param(server, id=server.name, marks=[pytest.mark.long] * server.long) for server in SERVERS]


@pytest.fixture(scope="module", params=BEHIND)
def real(request, run_directory, issuer):
    """A gateway before a real server."""
    server: Server = request.param
    directory = run_directory / f"real-{server.name}"
    with server.running(directory) as port:
        changes = settings(f"http://127.0.0.1:{port}", server)
        config = gateway_config(directory, f"http://127.0.0.1:{SILENT_PORT}", issuer.server.url, changes=changes)
        gateway = Gateway(directory, "gateway", config)
        try:
            yield gateway
        finally:
            gateway.stop()


class Client:
    """Sends requests over one connection, as long as that lasts."""

    def __init__(self, gateway: Gateway, token: str):
        self.gateway = gateway
        self.token = token
        self.connection = raw.RawConnection(gateway.port)

    def said(self, method: str, target: str, headers: list[tuple[str, str]], token: bool = False) -> dict | None:
        """The server's words on the request; nothing where it was refused."""
        own = [("Host", "gateway.test"), ("Content-Length", "0")] + [("Authorization", f"Bearer {self.token}")] * token
        lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in own + headers]
        try:
            self.connection.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            response = self.connection.response(to=method)
        except (raw.ConnectionClosed, OSError):
            self.connection.close()
            self.connection = raw.RawConnection(self.gateway.port)
            return None
        if response.header("connection") == "close":
            self.connection.close()
            self.connection = raw.RawConnection(self.gateway.port)
        if b'"resource"' not in response.body:
            return None
        return json.loads(response.body)


@pytest.fixture
def client(real, issuer):
    client = Client(real, issuer.access())
    assert client.said("GET", "/gu/x", [])["resource"] == "gu"
    assert client.said("GET", f"/users/{SUBJECT}/photo", [], token=True)["resource"] == f"user {SUBJECT}"
    assert client.said("GET", "/admin/secret", [], token=True) is None
    yield client
    client.connection.close()


def spelt(name: str) -> list[str]:
    return [name, name.replace("-", "_")]


def test_no_header_takes_a_request_to_another_routes_resource(client: Client):
    for name in (spelling for name in STEERING for spelling in spelt(name)):
        # The server takes the front off, or goes to the path that is named.
        for target, value in (("/gu/admin/secret", "/gu"), ("/gu/x", "/admin/secret"), ("/gu/x", "/gu/staff/secret")):
            said = client.said("GET", target, [(name, value)])
            assert said is None or said["resource"] == "gu", (name, value, said)
        said = client.said("GET", f"/users/{SUBJECT}/users/{OTHER}/photo", [(name, f"/users/{SUBJECT}")], token=True)
        assert said is None or said["resource"] == f"user {SUBJECT}", (name, said)
        said = client.said("POST", "/gu/item", [(name, "DELETE")])
        assert said is None or said["method"] == "POST", (name, said)


def test_no_header_says_where_a_request_comes_from_or_whose_it_is(client: Client):
    names = [spelling for name in CLAIMING for spelling in spelt(name)]
    for value in ("evil.test", "https", "on", "6.6.6.6", "6.6.6.6:443", "443", "mallory", "for=6.6.6.6;host=evil.test;proto=https"):
        # Many at a time: none of them arrives.
        for start in range(0, len(names), 16):
            said = client.said("GET", "/gu/x", [(name, value) for name in names[start : start + 16]])
            assert said is None or (
                said["resource"] == "gu" and said["host"] in ("gateway.test", "gateway.test:80") and said["scheme"] == "http"
                and said["client"] == "127.0.0.1" and not said["user"]
            ), (value, names[start : start + 16], said)


def test_no_spelling_of_a_path_reaches_a_stricter_routes_resource(client: Client):
    for target in SPELLINGS:
        for token in (False, True):
            said = client.said("GET", target, [], token)
            assert said is None or said["resource"] in ("gu", "none"), (target, said)
    for tail in ("photo", "../photo"):
        for middle in (
            f"{SUBJECT}/../{OTHER}", f"{SUBJECT}/..%2f{OTHER}", f"{OTHER};", f"{SUBJECT}/..;/{OTHER}", f"{SUBJECT};/../{OTHER}",
            f"{SUBJECT}/%2e%2e;x/{OTHER}", f"{SUBJECT}/..%5c{OTHER}", f";/{OTHER}", f"{SUBJECT};/{OTHER}",
        ):
            target = f"/users/{middle}/{tail}"
            said = client.said("GET", target, [], token=True)
            assert said is None or said["resource"] in (f"user {SUBJECT}", "none"), (target, said)


def test_express_takes_capitals_around_a_stricter_route_until_its_upstream_says_that_it_ignores_case(
    start_gateway, run_directory, issuer
):
    express = next(server for server in SERVERS if server.name == "express")
    with express.running(run_directory / "real-express-case") as port:
        changes = settings(f"http://127.0.0.1:{port}", express)
        safe = start_gateway(changes)
        del changes["upstreams"]["real"]["paths"]
        open_ = start_gateway(changes)
        for target in ("/gu/STAFF/secret", "/gu/Staff/secret", "/gu/sTAFF/"):
            assert raw.exchange(open_.port, "GET", target).json()["resource"] == "staff"
            assert raw.exchange(safe.port, "GET", target).status == 404
        # A path that is the laxer route's in every reading is forwarded as it came.
        assert raw.exchange(safe.port, "GET", "/gu/X/Secret").json()["resource"] == "gu"
        told = check(open_.config_path).stdout
        assert "warning: line" in told and "/gu/staff/** with other letters in capitals comes under /gu/**" in told
        assert "warning" not in check(safe.config_path).stdout


@pytest.mark.long
def test_tomcat_takes_paths_and_headers_that_the_gateway_keeps_from_it(run_directory):
    """Without the gateway, attempts of the tests above succeed."""
    usual, trusting = (next(server for server in SERVERS if server.name == name) for name in ("tomcat", "tomcat-remote-ip"))
    with usual.running(run_directory / "real-tomcat-alone") as port:
        for target in ("/gu/..;/admin/secret", "/gu/%2e%2e;x=y/admin/secret", "/admin;/secret", "/;/admin/secret", "//admin/secret"):
            assert raw.exchange(port, "GET", target).json()["resource"] == "admin", target
        for target in ("/gu/staff", "/gu/staff;x", "/gu;/staff/secret", "/gu/.;/staff/secret", "/gu/x/..;/staff/secret"):
            assert raw.exchange(port, "GET", target).json()["resource"] == "staff", target
        assert raw.exchange(port, "GET", "/gu/x", {"X-Forwarded-For": "6.6.6.6"}).json()["client"] == "127.0.0.1"
    with trusting.running(run_directory / "real-tomcat-remote-ip-alone") as port:
        for target in ("/gu/..%2fadmin/secret", "/gu/..%5cadmin/secret", "/gu\\..\\admin\\secret", "/admin%2fsecret"):
            assert raw.exchange(port, "GET", target).json()["resource"] == "admin", target
        claims = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.test", "ssl_cipher": "mallory"}
        said = raw.exchange(port, "GET", "/gu/x", claims).json()
        assert said == {
            "resource": "gu", "method": "GET", "host": "evil.test:443", "scheme": "https", "client": "6.6.6.6", "user": "mallory",
        }
        claims = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "443"}
        assert raw.exchange(port, "GET", "/gu/x", claims).json()["host"].endswith(":443")
        assert raw.exchange(port, "POST", "/gu/item", {"X-HTTP-Method-Override": "DELETE"}).json()["method"] == "DELETE"


def test_a_header_that_is_let_through_does_what_check_says(start_gateway, run_directory, issuer):
    gunicorn = next(server for server in SERVERS if server.name == "gunicorn-flask")
    with gunicorn.running(run_directory / "real-gunicorn-let-through") as port:
        changes = settings(f"http://127.0.0.1:{port}", gunicorn)
        changes["routes"].append({"name": "let", "path": "/let/**", "access": "public", "upstream": "real", "forward_headers": ["Script_Name"]})
        gateway = start_gateway(changes)
        assert raw.exchange(gateway.port, "GET", "/let/admin/secret").json()["resource"] == "none"
        assert raw.exchange(gateway.port, "GET", "/let/admin/secret", {"SCRIPT_NAME": "/let"}).json()["resource"] == "admin"
        # Another spelling, and another route, have none of it.
        assert raw.exchange(gateway.port, "GET", "/let/admin/secret", {"SCRIPT-NAME": "/let"}).json()["resource"] == "none"
        assert raw.exchange(gateway.port, "GET", "/gu/admin/secret", {"SCRIPT_NAME": "/gu"}).json()["resource"] == "gu"
        told = json.loads(gatehouse("check", "--json", "--config", gateway.config_path).stdout)["warnings"]
        assert [(each["kind"], each["key"]) for each in told] == [("trusted-header", "routes[6].forward_headers")]
        assert "gunicorn" in told[0]["text"] and told[0]["text"].endswith("a client reaches paths that other routes protect")
