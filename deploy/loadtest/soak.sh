#!/usr/bin/env bash
# Keeps Gatehouse under mixed load for a time while its backends go and come, and looks for what should not add up.
#
# Two upstreams, each an nginx; small and large answers, uploads, refused tokens, unknown paths, and clients that go
# away in the middle. In each cycle all is well for a while, but for three reloads of changed settings; then one
# backend is stopped (in turn gracefully, at once and by SIGKILL) and started again, while the other goes on. The cycle
# fails when
#   - a request fails, or is answered with anything but 200 (or the 401 and 404 that were asked for), other than on
#     the route whose backend is restarted; there 502, 503 and 504 may be, and broken-off answers, and nothing else;
#   - a reload does not succeed;
# and the whole when
#   - anonymous memory or open descriptors end higher than after the first cycle by more than MAXIMUM_GROWTH_MB (30) or
#     MAXIMUM_DESCRIPTORS (64);
#   - a request stays in flight, or a connection open, after the load has gone;
#   - the process does not end by itself, with status 0, when told to.
#
#   deploy/loadtest/soak.sh MINUTES         GATEHOUSE_BINARY=… THREADS=2 CONNECTIONS=32
set -euo pipefail

# shellcheck source=deploy/loadtest/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=deploy/loadtest/proxies.sh
. "$loadtest/proxies.sh"

[[ ${1:-} =~ ^[0-9]+$ ]] || fail "usage: soak.sh MINUTES"
end=$((SECONDS + $1 * 60))
connections=${CONNECTIONS:-32}
maximum_growth=${MAXIMUM_GROWTH_MB:-30}
maximum_descriptors=${MAXIMUM_DESCRIPTORS:-64}

need_packages ca-certificates curl libcurl4-openssl-dev libnginx-mod-http-echo libsqlite3-dev libssl-dev \
    nghttp2-client nginx-light openssl pkg-config procps python3 python3-venv wrk
need_python "$loadtest/requirements.txt"
need_gatehouse

# ---- Everything up

read -r backend_port other_port admin_port < <(free_ports 3)
choose_ports gatehouse
make_tokens 500 0 0
make_certificate
backend_conf backend "$backend_port" /api
backend_conf other "$other_port" /other
declare -A backend_url=([backend]=http://127.0.0.1:$backend_port/jwks.json [other]=http://127.0.0.1:$other_port/jwks.json)
start_nginx backend "${backend_url[backend]}"
start_nginx other "${backend_url[other]}"
conf_gatehouse "${THREADS:-2}" \
    "{backend: {url: \"http://127.0.0.1:$backend_port\"}, other: {url: \"http://127.0.0.1:$other_port\"}}" \
    '[{name: api, path: "/api/**", access: required, upstream: backend},
      {name: other, path: "/other/**", access: required, upstream: other}]'
# shellcheck disable=SC2119 # with no command before it: on all cores
run_gatehouse gatehouse
gatehouse=${process[gatehouse]}
cp "$work/gatehouse.yaml" "$work/gatehouse.first.yaml"
check_proxy gatehouse
http2=no
if [ "$gatehouse_tls" = yes ] && [ "$(protocol_over_tls gatehouse --http2)" = 2 ]; then http2=yes; fi
[ $http2 = yes ] || echo "skipped: HTTP/2 over TLS, which this binary does not speak"

problems=0
problem() {
    problems=$((problems + 1))
    echo "PROBLEM: $*"
}

metric() { get "http://127.0.0.1:$admin_port/metrics" | awk -v name="${1//\"/\\\"}" '$1 == name { print int($2) }'; }

# ---- Load

# mixed PREFIX SECONDS: wrk with mixed.lua against the routes below PREFIX; its counts are in $work/mixed<prefix>.
mixed() {
    PREFIX=$1 GOOD=$work/tokens/many BAD=$(cat "$work/tokens/altered") wrk -t1 -c"$connections" -d"${2}s" --timeout 20s \
        -s "$loadtest/mixed.lua" "http://127.0.0.1:${port[gatehouse]}/" >"$work/mixed${1//\//-}" 2>&1
}

# judge PREFIX WELL: says what was wrong with the last run of mixed; WELL is no while the route's backend restarts.
judge() {
    awk -v prefix="$1" -v well="$2" '
        $1 == "mixed" { there = 1; requests = $2; failures = $3; asked[401] = $4; asked[404] = $5 }
        $1 == "status" { count[$2] = $3 }
        END {
            if (!there || !requests) { print prefix ": no answers at all"; exit }
            if (well == "yes" && failures) print prefix ": " failures " of " requests " requests broke off"
            for (status in count) {
                if (status == 200 || (status in asked && count[status] <= asked[status])) continue
                if (well == "no" && (status == 502 || status == 503 || status == 504)) continue
                print prefix ": " count[status] " answers with " status
            }
        }' "$work/mixed${1//\//-}" >"$work/judged"
    local line
    while IFS= read -r line; do problem "$line"; done <"$work/judged"
}

over_http2() {
    [ $http2 = yes ] || return 0
    h2load -t1 -c8 -m8 -D5 -H "Authorization: Bearer $hot" "https://127.0.0.1:${tls_port[gatehouse]}/api/10k" >"$work/h2load" 2>&1
}

# reload: settings that differ from the last ones in a limit, in one upstream and, by turns, in a route.
reloads=0
reload() {
    local before=$reloads tries
    reloads=$((reloads + 1))
    sed -e "s|other: {url|other: {idle_timeout: $((60 + reloads % 2))s, url|" \
        -e "s|^routes: \[|&{name: turn, path: \"/turn/$((reloads % 2))\", access: public, upstream: backend}, |" \
        -e "s|^limits: {|&header_count: $((100 + reloads % 7)), |" \
        "$work/gatehouse.first.yaml" >"$work/gatehouse.yaml"
    kill -HUP "$gatehouse"
    for ((tries = 0; tries < 100; tries++)); do
        [ "$(metric 'gatehouse_config_reloads_total{result="success"}')" = $((before + 1)) ] && return
        sleep 0.1
    done
    problem "a reload did not succeed"
}

all_well() {
    local jobs=()
    mixed /api 5 & jobs+=($!)
    mixed /other 5 & jobs+=($!)
    over_http2 & jobs+=($!)
    python3 "$loadtest/connections.py" vanish "${port[gatehouse]}" "$hot" 4 >/dev/null & jobs+=($!)
    for _ in 1 2 3; do
        sleep 1
        reload
    done
    wait "${jobs[@]}" || problem "a load generator failed"
    judge /api yes
    judge /other yes
    if [ $http2 = yes ] && ! grep -Eq 'status codes: .* 0 3xx, 0 4xx, 0 5xx' "$work/h2load"; then
        problem "HTTP/2: $(grep 'status codes' "$work/h2load")"
    fi
}

# restart NAME PREFIX OTHER_PREFIX SIGNAL: NAME goes away for a second and a half under load.
restart() {
    local jobs=() worker
    mixed "$2" 7 & jobs+=($!)
    mixed "$3" 7 & jobs+=($!)
    sleep 1
    worker=$(worker_of "${process[$1]}")
    [ "$4" != KILL ] || kill -s KILL "$worker" # the master would leave it behind
    stop "$1" "$4"
    sleep 1.5
    start_nginx "$1" "${backend_url[$1]}"
    wait "${jobs[@]}" || problem "a load generator failed"
    judge "$2" no
    judge "$3" yes
}

# ---- What is left when the load has gone

# gone: waits for the last request and connection to end, at most 10 s.
gone() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        in_flight=$(metric gatehouse_requests_in_flight)
        open=$(metric gatehouse_client_connections_open)
        [ "$in_flight/$open" = 0/0 ] && return
        sleep 0.1
    done
    problem "left after the load: ${in_flight:-unknown} requests in flight, ${open:-unknown} connections of clients"
}

sample() {
    read -r resident anonymous <<<"$(memory_kib "$gatehouse")"
    descriptors=$(find "/proc/$gatehouse/fd" -mindepth 1 | wc -l)
}

signals=(QUIT TERM KILL)
cycle=0
while [ $cycle -lt 2 ] || [ $SECONDS -lt $end ]; do
    cycle=$((cycle + 1))
    signal=${signals[cycle % 3]}
    all_well
    if ((cycle % 2)); then restart backend /api /other "$signal"; else restart other /other /api "$signal"; fi
    kill -0 "$gatehouse" 2>/dev/null || fail "gatehouse has ended: $(tail -5 "$work/gatehouse.log")"
    gone
    sample
    [ $cycle -gt 1 ] || { first_anonymous=$anonymous first_descriptors=$descriptors; }
    echo "cycle $cycle ($signal, $reloads reloads so far): $(awk '$1 == "mixed" { sum += $2 } END { print sum }' "$work"/mixed-*) requests in the restart," \
        "$((resident / 1024)) MB resident ($((anonymous / 1024)) MB anonymous), $descriptors descriptors, $in_flight in flight, $problems problems so far"
done

growth=$(((anonymous - first_anonymous) / 1024))
((growth <= maximum_growth)) || problem "anonymous memory grew by $growth MB since the first cycle (at most $maximum_growth)"
((descriptors - first_descriptors <= maximum_descriptors)) ||
    problem "descriptors went from $first_descriptors to $descriptors (at most $maximum_descriptors more)"

kill -TERM "$gatehouse"
wait "$gatehouse" || problem "gatehouse ended with status $?"
unset "process[gatehouse]"

echo "$cycle cycles, anonymous memory $growth MB over the first, descriptors $first_descriptors → $descriptors: $problems problems"
[ $problems = 0 ]
