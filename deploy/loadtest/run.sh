#!/usr/bin/env bash
# CPU per request of Gatehouse beside nginx as a plain proxy, on this machine, in the same run.
#
# GET with a bearer token of about 1 KB, a JSON answer of 275 bytes, 64 connections, one worker each; nginx is the
# backend of both. Gatehouse verifies the token (which is in its cache after the first request), nginx only passes it on.
# The rounds alternate, so that what else the machine does hits both. The exit status is 1 when Gatehouse takes more than
# MAXIMUM_RATIO times nginx's CPU.
#
#   deploy/loadtest/run.sh          ROUNDS=5 SECONDS_EACH=10 CONNECTIONS=64 MAXIMUM_RATIO=1.8 GATEHOUSE_BINARY=…
set -euo pipefail

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/../requirements.sh"
cd "$repository"

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-10}
connections=${CONNECTIONS:-64}
maximum=${MAXIMUM_RATIO:-1.8}

need_packages ca-certificates curl libcurl4-openssl-dev libsqlite3-dev libssl-dev nginx-light pkg-config procps python3 wrk
if [ -z "${GATEHOUSE_BINARY:-}" ]; then
    need_swift
    echo "building the release binary"
    swift build -c release --product gatehouse >/dev/null </dev/null || fail "the build failed: swift build -c release"
    GATEHOUSE_BINARY=$(swift build -c release --show-bin-path)/gatehouse
fi

work=$(mktemp -d)
pids=()
# shellcheck disable=SC2317 # called by the trap
stop() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

# The proxy under test has the first core to itself; what loads it and answers it share the others.
cores=$(nproc)
on_first=() on_others=()
if [ "$cores" -gt 1 ]; then
    on_first=(taskset -c 0)
    on_others=(taskset -c "1-$((cores - 1))")
fi

read -r backend_port nginx_port gateway_port admin_port pool_port < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]
print(*(each.getsockname()[1] for each in sockets))')

# ---- nginx twice: the backend, and the plain proxy

nginx=$(command -v nginx || echo /usr/sbin/nginx)
body=$(python3 -c '
import json
text = json.dumps({"items": [{"id": number, "name": f"item {number}"} for number in range(7)], "note": ""})
print(text[:-2] + "x" * (275 - len(text)) + text[-2:], end="")')
[ ${#body} = 275 ] || fail "the backend's answer has ${#body} bytes"

common="daemon off; worker_processes 1; error_log stderr error;
events { worker_connections 4096; }"
http_common="access_log off; keepalive_requests 100000000; keepalive_timeout 600s;
client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;"

cat >"$work/backend.conf" <<CONF
$common
pid $work/backend.pid;
http {
    $http_common
    server {
        listen 127.0.0.1:$backend_port;
        default_type application/json;
        location / { return 200 '$body'; }
    }
}
CONF
cat >"$work/proxy.conf" <<CONF
$common
pid $work/proxy.pid;
http {
    $http_common
    upstream backend {
        server 127.0.0.1:$backend_port;
        keepalive 128;
        keepalive_requests 100000000;
    }
    server {
        listen 127.0.0.1:$nginx_port;
        location / {
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host \$host;
            proxy_set_header X-Forwarded-For \$remote_addr;
        }
    }
}
CONF

start() {
    local name=$1 url=$2
    shift 2
    "$@" >"$work/$name.log" 2>&1 </dev/null &
    pids+=($!)
    wait_for "$name" "$url" $! "$work/$name.log"
}

# nginx's worker: the one child of the master.
worker_of() { pgrep -P "$1"; }

start backend "http://127.0.0.1:$backend_port/" "${on_others[@]}" "$nginx" -p "$work" -c "$work/backend.conf"
start nginx "http://127.0.0.1:$nginx_port/" "${on_first[@]}" "$nginx" -p "$work" -c "$work/proxy.conf"
nginx_worker=$(worker_of "${pids[-1]}")

# ---- LocalPool for a real token, and Gatehouse

export CLIENT_SECRET=loadtestclientsecret0000000000000000000000000000000
cat >"$work/pool.yaml" <<YAML
listen:
  host: 127.0.0.1
  port: $pool_port
region: eu-central-1
pool_id: eu-central-1_Loadtest
client: {id: loadtestclient000000000000, secret: "\${CLIENT_SECRET}"}
database: ":memory:"
users:
  - email: ada@example.com
    password: Correct-Horse-7-Battery
    groups: [beta]
YAML
cat >"$work/gateway.yaml" <<YAML
listeners: [{address: "127.0.0.1:$gateway_port"}]
threads: 1
admin: {address: "127.0.0.1:$admin_port"}
state_directory: $work/state
upstreams:
  backend: {url: "http://127.0.0.1:$backend_port"}
issuers:
  local:
    profile: cognito
    region: eu-central-1
    user_pool_id: eu-central-1_Loadtest
    client_ids: [loadtestclient000000000000]
    issuer: http://127.0.0.1:$pool_port/eu-central-1_Loadtest
    jwks_url: http://127.0.0.1:$pool_port/eu-central-1_Loadtest/.well-known/jwks.json
    allow_insecure_http: true
sign_in:
  cognito:
    issuer: local
    client_id: loadtestclient000000000000
    client_secret: \${CLIENT_SECRET}
    endpoint: http://127.0.0.1:$pool_port
    allow_insecure_http: true
routes:
  - {name: api, path: "/api/**", access: required, upstream: backend}
logging: {access_log: false}
YAML
start pool "http://127.0.0.1:$pool_port/_local/health" "$GATEHOUSE_BINARY" local-pool --config "$work/pool.yaml"
start gatehouse "http://127.0.0.1:$admin_port/readyz" \
    "${on_first[@]}" "$GATEHOUSE_BINARY" serve --config "$work/gateway.yaml"
gatehouse=${pids[-1]}

token=$(curl --noproxy '*' -sf "http://127.0.0.1:$gateway_port/api/v1/auth/login" -H 'Content-Type: application/json' \
    -d '{"email": "ada@example.com", "password": "Correct-Horse-7-Battery"}' |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])') || fail "no login at LocalPool"

# The route must be a protected one, or the figures mean nothing.
[ "$(curl --noproxy '*' -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$gateway_port/api/items")" = 401 ] ||
    fail "the route let a request without a token through"

# ---- The rounds

# User and system time of a process with all its threads, in clock ticks (proc(5): fields 14 and 15 of stat).
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# round NAME PORT PID SECONDS: one run of wrk against the port; prints CPU µs a request, requests/s, p50 and p99 in µs.
round() {
    local before after figures requests failures duration p50 p99
    before=$(cpu_ticks "$3")
    figures=$("${on_others[@]}" wrk -t1 -c"$connections" -d"${4}s" --latency -s "$repository/deploy/loadtest/report.lua" \
        -H "Authorization: Bearer $token" "http://127.0.0.1:$2/api/items" | grep '^figures ')
    after=$(cpu_ticks "$3")
    read -r _ requests failures duration p50 p99 <<<"$figures"
    [ "$failures" = 0 ] || fail "$1: $failures of $requests requests failed"
    awk -v name="$1" -v ticks=$((after - before)) -v hertz="$(getconf CLK_TCK)" -v requests="$requests" \
        -v duration="$duration" -v p50="$p50" -v p99="$p99" 'BEGIN {
            printf "%s %.2f %.0f %d %d\n", name, ticks / hertz * 1e6 / requests, requests / duration, p50, p99 }'
}

echo "warming up"
round nginx "$nginx_port" "$nginx_worker" 2 >/dev/null
round gatehouse "$gateway_port" "$gatehouse" 2 >/dev/null

for ((number = 1; number <= rounds; number++)); do
    for proxy in nginx gatehouse; do
        if [ $proxy = nginx ]; then
            line=$(round nginx "$nginx_port" "$nginx_worker" "$seconds")
        else
            line=$(round gatehouse "$gateway_port" "$gatehouse" "$seconds")
        fi
        echo "$line" >>"$work/rounds"
        echo "round $number of $rounds: $line" | awk '{
            printf "%s %s of %s %-10s %6.2f µs/request  %7d requests/s  p50 %d µs  p99 %d µs\n", $1, $2, $4, $5, $6, $7, $8, $9 }'
    done
done

echo
echo "$(date -u +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $cores cores, $("$nginx" -v 2>&1), $connections" \
    "connections, $rounds rounds of $seconds s, token of ${#token} bytes"
echo
python3 - "$work/rounds" "$maximum" <<'PYTHON'
import statistics
import sys

rounds: dict[str, list[list[float]]] = {}
for line in open(sys.argv[1]):
    name, *figures = line.split()
    rounds.setdefault(name, []).append([float(figure) for figure in figures])

print("| proxy | CPU µs/request, median | spread | requests/s | p50 µs | p99 µs |")
print("|---|---|---|---|---|---|")
for name, figures in rounds.items():
    cpu, rate, p50, p99 = zip(*figures)
    median = statistics.median
    print(
        f"| {name} | {median(cpu):.1f} | {min(cpu):.1f}–{max(cpu):.1f} | {median(rate):.0f} "
        f"| {median(p50):.0f} | {median(p99):.0f} |"
    )
ratios = [mine[0] / theirs[0] for theirs, mine in zip(rounds["nginx"], rounds["gatehouse"])]
ratio, maximum = statistics.median(ratios), float(sys.argv[2])
print(f"\nratio Gatehouse / nginx: {ratio:.2f} (rounds: {min(ratios):.2f}–{max(ratios):.2f}); at most {maximum} wanted")
sys.exit(ratio > maximum)
PYTHON
