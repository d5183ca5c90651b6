# Sourced by compare.sh and soak.sh: the issuer with its tokens, the backend, and the four proxies before it, each with
# one worker, access logs off, connections to the backend kept open. All but nginx verify the token and tell the
# backend in headers who calls; none of them passes the token itself on but nginx.
# shellcheck shell=bash
# shellcheck disable=SC2154 # work, nginx, on_first, on_others and process are those of common.sh

issuer=https://issuer.example/eu-central-1_Loadtest
client=loadtestclient000000000000

# make_tokens MANY NEW LISTS: see tokens.py; they are in $work/tokens.
make_tokens() {
    "$repository/.venv/bin/python" "$loadtest/tokens.py" "$work/tokens" "$issuer" "$client" "$@" || fail "no tokens were made"
    hot=$(cat "$work/tokens/hot")
}

# make_certificate: a key and a certificate for this run, in $work/tls.
make_certificate() {
    mkdir -p "$work/tls"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/tls/key.pem" -out "$work/tls/certificate.pem" \
        2>/dev/null || fail "openssl made no certificate"
    cat "$work/tls/certificate.pem" "$work/tls/key.pem" >"$work/tls/both.pem"
}

# ---- The backend

# backend_conf NAME PORT PREFIX: an nginx that answers below PREFIX; key set, subject and files are the same for all.
backend_conf() {
    local echo_module=/usr/lib/nginx/modules/ngx_http_echo_module.so
    mkdir -p "$work/files"
    head -c 10240 /dev/zero | tr '\0' x >"$work/files/10k"
    head -c 1048576 /dev/zero | tr '\0' x >"$work/files/1m"
    cat >"$work/$1.conf" <<CONF
load_module $echo_module;
$(nginx_main "$1")
http {
    $(nginx_http "$1")
    client_max_body_size 1m;
    client_body_buffer_size 128k;
    server {
        listen 127.0.0.1:$2;
        default_type application/json;
        location / { return 200 '$(small_answer)'; }
        location = $3/subject { return 200 '\$http_x_auth_subject'; }
        location = $3/10k { alias $work/files/10k; }
        location = $3/1m { alias $work/files/1m; }
        # The whole body is read before the answer: an early answer would measure something else.
        location = $3/upload { echo_read_request_body; echo '{"stored": true}'; }
        location = /jwks.json { alias $work/tokens/jwks.json; }
    }
}
CONF
}

# ---- The proxies, of which backend_port, admin_port and envoy_admin_port are set by who sources this

declare -A port tls_port

# choose_ports NAME…: a plain port and a TLS port for each.
choose_ports() {
    local name
    for name in "$@"; do read -r "port[$name]" "tls_port[$name]" < <(free_ports 2); done
}

conf_nginx() {
    cat >"$work/nginx.conf" <<CONF
$(nginx_main nginx)
http {
    $(nginx_http nginx)
    $(nginx_upstream "$backend_port")
    # Bodies pass through memory, as they do in the others.
    proxy_request_buffering off;
    proxy_max_temp_file_size 0;
    server {
        listen 127.0.0.1:${port[nginx]};
        listen 127.0.0.1:${tls_port[nginx]} ssl http2;
        ssl_certificate $work/tls/certificate.pem;
        ssl_certificate_key $work/tls/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        location / { $(nginx_pass) }
    }
}
CONF
}

run_nginx() { start_nginx nginx "http://127.0.0.1:${port[nginx]}/api/items" "${on_first[@]}"; }

conf_haproxy() {
    cat >"$work/haproxy.cfg" <<CONF
global
    nbthread 1
    maxconn 8000
    ssl-default-bind-options ssl-min-ver TLSv1.2

defaults
    mode http
    timeout connect 5s
    timeout client 600s
    timeout server 600s
    timeout http-request 10s
    timeout http-keep-alive 600s
    http-reuse always

backend api
    server backend 127.0.0.1:$backend_port pool-purge-delay 60s

frontend edge
    bind 127.0.0.1:${port[haproxy]}
    bind 127.0.0.1:${tls_port[haproxy]} ssl crt $work/tls/both.pem alpn h2,http/1.1
    monitor-uri /healthy
    http-request set-var(txn.bearer) http_auth_bearer
    http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('\$.alg')
    http-request deny deny_status 401 unless { var(txn.alg) -m str RS256 }
    http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"$work/tokens/public.pem") 1 }
    http-request set-var(txn.issuer) var(txn.bearer),jwt_payload_query('\$.iss')
    http-request deny deny_status 401 unless { var(txn.issuer) -m str $issuer }
    http-request set-var(txn.expires) var(txn.bearer),jwt_payload_query('\$.exp','int')
    http-request set-var(txn.now) date()
    http-request deny deny_status 401 unless { var(txn.expires),sub(txn.now) -m int gt 0 }
    http-request set-header X-Auth-Subject %[var(txn.bearer),jwt_payload_query('\$.sub')]
    http-request set-header X-Auth-Username %[var(txn.bearer),jwt_payload_query('\$.username')]
    http-request set-header X-Auth-Scopes %[var(txn.bearer),jwt_payload_query('\$.scope')]
    http-request set-header X-Auth-Issuer %[var(txn.issuer)]
    http-request set-header X-Auth-Client %[var(txn.bearer),jwt_payload_query('\$.client_id')]
    http-request set-header X-Auth-Token-Use %[var(txn.bearer),jwt_payload_query('\$.token_use')]
    http-request set-header X-Auth-Expires %[var(txn.expires)]
    http-request del-header Authorization
    http-request set-header X-Forwarded-For %[src]
    default_backend api
CONF
}

run_haproxy() {
    start haproxy "http://127.0.0.1:${port[haproxy]}/healthy" "${on_first[@]}" "$haproxy" -db -f "$work/haproxy.cfg"
}

# envoy_listener NAME PORT TRANSPORT: one listener; TRANSPORT is empty or the lines of its TLS.
envoy_listener() {
    cat <<YAML
  - name: $1
    address: {socket_address: {address: 127.0.0.1, port_value: $2}}
    filter_chains:
    - $3
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: $1
          use_remote_address: true
          route_config:
            virtual_hosts:
            - {name: api, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: backend, timeout: 0s}}]}
          http_filters:
          - name: envoy.filters.http.jwt_authn
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication
              providers:
                cognito:
                  issuer: $issuer
                  local_jwks: {filename: $work/tokens/jwks.json}
                  jwt_cache_config: {jwt_cache_size: 10000}
                  claim_to_headers:
                  - {header_name: X-Auth-Subject, claim_name: sub}
                  - {header_name: X-Auth-Username, claim_name: username}
                  - {header_name: X-Auth-Scopes, claim_name: scope}
                  - {header_name: X-Auth-Issuer, claim_name: iss}
                  - {header_name: X-Auth-Client, claim_name: client_id}
                  - {header_name: X-Auth-Token-Use, claim_name: token_use}
                  - {header_name: X-Auth-Expires, claim_name: exp}
              rules: [{match: {prefix: /}, requires: {provider_name: cognito}}]
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
YAML
}

conf_envoy() {
    local tls="transport_socket: {name: envoy.transport_sockets.tls, typed_config: {
        \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext,
        common_tls_context: {alpn_protocols: [h2, http/1.1], tls_certificates: [{
          certificate_chain: {filename: $work/tls/certificate.pem}, private_key: {filename: $work/tls/key.pem}}]}}}"
    cat >"$work/envoy.yaml" <<YAML
admin: {address: {socket_address: {address: 127.0.0.1, port_value: $envoy_admin_port}}}
static_resources:
  listeners:
$(envoy_listener plain "${port[envoy]}" "name: plain")
$(envoy_listener tls "${tls_port[envoy]}" "$tls")
  clusters:
  - name: backend
    type: STATIC
    connect_timeout: 5s
    circuit_breakers: {thresholds: [{max_connections: 16384, max_pending_requests: 16384, max_requests: 16384}]}
    load_assignment:
      cluster_name: backend
      endpoints:
      - lb_endpoints:
        - {endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $backend_port}}}}
YAML
}

run_envoy() {
    start envoy "http://127.0.0.1:$envoy_admin_port/ready" \
        "${on_first[@]}" "$envoy" -c "$work/envoy.yaml" --concurrency 1 --disable-hot-restart -l error
}

# cognito_issuer NAME POOL CLIENT ISSUER JWKS_URL: an issuer of gatehouse's settings, on standard output.
cognito_issuer() {
    cat <<YAML
  $1:
    profile: cognito
    region: eu-central-1
    user_pool_id: eu-central-1_$2
    client_ids: [$3]
    issuer: $4
    jwks_url: $5
    allow_insecure_http: true
YAML
}

# conf_gatehouse THREADS UPSTREAMS ROUTES [NAME TELEMETRY]: the two in the middle in YAML's flow form. TLS is there when
# the binary knows it. NAME, if not gatehouse, is of one beside it, and TELEMETRY the settings of its logs and traces.
# shellcheck disable=SC2034 # gatehouse_tls is for who sources this
conf_gatehouse() {
    local name=${4:-gatehouse} telemetry=${5:-"logging: {access_log: false}"}
    local certificate="{certificate: $work/tls/certificate.pem, key: $work/tls/key.pem}"
    local plain="{address: \"127.0.0.1:${port[$name]}\"}"
    local tls="{address: \"127.0.0.1:${tls_port[$name]}\", tls: {certificates: [$certificate]}}"
    local listeners
    gatehouse_tls=no
    for listeners in "[$plain, $tls]" "[$plain]"; do
        cat >"$work/$name.yaml" <<YAML
listeners: $listeners
threads: $1
admin: {address: "127.0.0.1:$admin_port"}
state_directory: $work/state-$name
# All load comes from one address.
limits: {connections_per_address: 10000, requests_per_address: 10000}
upstreams: $2
issuers:
$(cognito_issuer cognito Loadtest "$client" "$issuer" "http://127.0.0.1:$backend_port/jwks.json")
routes: $3
$telemetry
YAML
        if "$GATEHOUSE_BINARY" check --config "$work/$name.yaml" >"$work/check" 2>&1; then
            [ "$listeners" = "[$plain]" ] || gatehouse_tls=yes
            return
        fi
    done
    cat "$work/check" >&2
    fail "gatehouse refuses its settings"
}

# run_gatehouse NAME [COMMAND…]: by what else it is run.
run_gatehouse() {
    local name=$1
    shift
    start "$name" "http://127.0.0.1:$admin_port/readyz" "$@" "$GATEHOUSE_BINARY" serve --config "$work/$name.yaml"
}

# ---- Whether they do what they are compared for

# check_proxy NAME: it must let good tokens through and, nginx apart, refuse bad ones and name the caller itself.
check_proxy() {
    local url=http://127.0.0.1:${port[$1]}/api name status subject
    status=$(status_of -H "Authorization: Bearer $hot" "$url/items")
    [ "$status" = 200 ] || fail "$1 answers a good token with $status"
    [ "$1" = nginx ] && return
    [ "$(status_of "$url/items")" = 401 ] || fail "$1 lets a request without a token through"
    for name in expired other-issuer other-key altered; do
        status=$(status_of -H "Authorization: Bearer $(cat "$work/tokens/$name")" "$url/items")
        [ "$status" = 401 ] || fail "$1 answers the token '$name' with $status"
    done
    subject=$(python3 -c '
import base64, json, sys
payload = sys.argv[1].split(".")[1]
print(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])' "$hot")
    [ "$(get -H "Authorization: Bearer $hot" -H "X-Auth-Subject: someone-else" "$url/subject")" = "$subject" ] ||
        fail "$1 does not tell the backend who calls"
}

# protocol_over_tls NAME CURL_OPTION: what NAME's TLS port speaks when asked so: 1.1, 2, or 0 when nothing.
protocol_over_tls() {
    get -k "$2" -o /dev/null -w '%{http_version}' -H "Authorization: Bearer $hot" \
        "https://127.0.0.1:${tls_port[$1]}/api/items" || true
}
