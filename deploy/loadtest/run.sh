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

# shellcheck source=deploy/loadtest/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-10}
connections=${CONNECTIONS:-64}
maximum=${MAXIMUM_RATIO:-1.8}

need_packages ca-certificates curl libcurl4-openssl-dev libnghttp2-dev libpq-dev libsqlite3-dev libssl-dev nginx-light pkg-config \
    procps python3 wrk zlib1g-dev
need_gatehouse

read -r backend_port nginx_port gateway_port admin_port pool_port < <(free_ports 5)

# ---- nginx twice: the backend, and the plain proxy

body=$(small_answer)
[ ${#body} = 275 ] || fail "the backend's answer has ${#body} bytes"

cat >"$work/backend.conf" <<CONF
$(nginx_main backend)
http {
    $(nginx_http backend)
    server {
        listen 127.0.0.1:$backend_port;
        default_type application/json;
        location / { return 200 '$body'; }
    }
}
CONF
cat >"$work/nginx.conf" <<CONF
$(nginx_main nginx)
http {
    $(nginx_http nginx)
    $(nginx_upstream "$backend_port")
    server {
        listen 127.0.0.1:$nginx_port;
        location / { $(nginx_pass) }
    }
}
CONF

start_nginx backend "http://127.0.0.1:$backend_port/" "${on_others[@]}"
start_nginx nginx "http://127.0.0.1:$nginx_port/" "${on_first[@]}"
nginx_worker=$(worker_of "${process[nginx]}")

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
# All load comes from one address.
limits: {connections_per_address: 10000, requests_per_address: 10000}
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
gatehouse=${process[gatehouse]}

token=$(get -f "http://127.0.0.1:$gateway_port/api/v1/auth/login" -H 'Content-Type: application/json' \
    -d '{"email": "ada@example.com", "password": "Correct-Horse-7-Battery"}' |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])') || fail "no login at LocalPool"

# The route must be a protected one, or the figures mean nothing.
[ "$(status_of "http://127.0.0.1:$gateway_port/api/items")" = 401 ] ||
    fail "the route let a request without a token through"

# ---- The rounds

# round NAME PORT PID SECONDS: one run of wrk against the port; prints CPU µs a request, requests/s, p50 and p99 in µs.
round() {
    local before after figures requests failures duration p50 p99
    before=$(cpu_ticks "$3")
    figures=$("${on_others[@]}" wrk -t1 -c"$connections" -d"${4}s" --latency -s "$loadtest/load.lua" \
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
echo "$(machine), $("$nginx" -v 2>&1), $connections connections, $rounds rounds of $seconds s, token of ${#token} bytes"
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
