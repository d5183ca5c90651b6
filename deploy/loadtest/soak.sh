#!/usr/bin/env bash
# Keeps Gatehouse under mixed load for a time while everything that it needs fails in turn, and looks for what should not
# add up.
#
# Three upstreams, each an nginx; small and large answers, uploads, refused tokens, unknown paths, clients that go away in
# the middle, and apps with sessions that they use and refresh all the time (soak_sessions.py). A cycle has three parts:
#   1. All is well, but for three reloads of changed settings.
#   2. One backend is stopped (in turn gracefully, at once and by SIGKILL) and started again, while the other goes on. From
#      here on the receivers of audit events and of user sync fail, each in another way in each cycle: they answer 503, are
#      slow, never answer, or refuse connections.
#   3. The name server is silent; both servers of key sets fail as receivers do; the local pool, which is the sessions'
#      Cognito and Apple, is stopped and started, in each second cycle while the clock is behind; the time of day is two
#      hours behind, then forty days ahead, then right.
# The cycle fails when
#   - a request fails, or is answered with anything but 200 (or the 401 and 404 that were asked for), other than on
#     the route whose backend is restarted; there 502, 503 and 504 may be, and broken-off answers, and nothing else;
#   - a session is lost: a refresh gets anything but 200, or 503 with Retry-After while the pool is away;
#   - a reload does not succeed;
# and the whole when
#   - an event loop stalled (gatehouse_event_loop_stalls_total) more than MAXIMUM_STALLS (0) times;
#   - anonymous memory or open descriptors end higher than after the first cycle by more than MAXIMUM_GROWTH_MB (30) or
#     MAXIMUM_DESCRIPTORS (64);
#   - a request stays in flight, or a connection open, after the load has gone;
#   - a session does not live at the end, or the receivers, which are well then, lack a message;
#   - the process does not end by itself, with status 0, when told to.
#
# The gateway runs with the usual priority on all cores, and everything else with a lower one (nice), so that the load does
# not starve it: what is judged is the gateway, not the machine. The clock is set for the gateway alone, by the library that
# the end-to-end tests have for it; the name server takes root, for port 53 and a resolv.conf of the gateway's own.
#
#   deploy/loadtest/soak.sh MINUTES         GATEHOUSE_BINARY=… THREADS=2 CONNECTIONS=32 SESSIONS=24
#                                           LOGS=DIRECTORY: where logs are kept when something was wrong
set -euo pipefail

# shellcheck source=deploy/loadtest/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=deploy/loadtest/proxies.sh
. "$loadtest/proxies.sh"
# shellcheck source=deploy/loadtest/soak_settings.sh
. "$loadtest/soak_settings.sh"

[[ ${1:-} =~ ^[0-9]+$ ]] || fail "usage: soak.sh MINUTES"
end=$((SECONDS + $1 * 60))
connections=${CONNECTIONS:-32}
sessions=${SESSIONS:-24}
maximum_growth=${MAXIMUM_GROWTH_MB:-30}
maximum_descriptors=${MAXIMUM_DESCRIPTORS:-64}
maximum_stalls=${MAXIMUM_STALLS:-0}
later=(nice -n 10) # all but the gateway

need_packages ca-certificates curl gcc libc6-dev libcurl4-openssl-dev libnghttp2-dev libnginx-mod-http-echo libpq-dev libsqlite3-dev libssl-dev \
    nghttp2-client nginx-light openssl pkg-config procps python3 python3-venv util-linux wrk zlib1g-dev
need_python "$loadtest/requirements.txt"
need_gatehouse

# shellcheck disable=SC2317 # called by the trap
keep_logs() {
    [ -n "${LOGS:-}" ] && [ -z "${all_good:-}" ] || return 0
    mkdir -p "$LOGS"
    cp "$work"/*.log "$LOGS"
}
trap 'keep_logs; stop_all' EXIT

# ---- Everything up

read -r backend_port other_port steady_port admin_port < <(free_ports 4)
read -r control_port audit_port users_port keys_port partner_keys_port pool_port < <(free_ports 6)
choose_ports gatehouse
# Good by every clock that the gateway will have.
make_tokens 500 0 0 10800 "$hundred_days"
"$repository/.venv/bin/python" "$loadtest/tokens.py" "$work/partner" "$issuer-partner" "$client" \
    500 0 0 10800 "$hundred_days" || fail "no tokens were made"
make_certificate

backend_conf backend "$backend_port" /api
backend_conf other "$other_port" /other
backend_conf steady "$steady_port" /named
declare -A backend_url=([backend]=http://127.0.0.1:$backend_port/jwks.json [other]=http://127.0.0.1:$other_port/jwks.json)
start_backend() { start_nginx "$1" "${backend_url[$1]}" "${later[@]}"; }
start_backend backend
start_backend other
start_nginx steady "http://127.0.0.1:$steady_port/jwks.json" "${later[@]}"

# resolv.conf(5) knows no ports, so that the name server has an address of its own.
names=127.0.0.79 steady_name=backend.test within=()
may_mount=(unshare --mount --propagation private mount --bind /etc/hosts /etc/hosts)
if [ "$(id -u)" = 0 ] && "${may_mount[@]}" 2>/dev/null; then
    echo "nameserver $names" >"$work/resolv.conf"
    echo "hosts: files dns" >"$work/nsswitch.conf"
    # shellcheck disable=SC2016 # $1 and so on are the inner shell's
    within=(unshare --mount --propagation private sh -c
        'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@"'
        sh "$work/resolv.conf" "$work/nsswitch.conf")
else
    echo "skipped: a silent name server, which takes root and a mount namespace"
    names=none steady_name=localhost
fi
start peers "http://127.0.0.1:$control_port/" "${later[@]}" python3 "$loadtest/soak_peers.py" \
    "$control_port" "$audit_port" "$users_port" "$names" "$work/clock" \
    "$keys_port=$work/tokens/jwks.json" "$partner_keys_port=$work/partner/jwks.json"

pool_secret=$(openssl rand -hex 26) fill_secret=$(openssl rand -hex 32)
conf_pool "$sessions"
start_pool() {
    start pool "http://127.0.0.1:$pool_port/_local/health" "${later[@]}" \
        "$GATEHOUSE_BINARY" local-pool --config "$work/pool.yaml"
}
start_pool

conf_soak "${THREADS:-2}"
cc -std=gnu11 -O1 -shared -fPIC -o "$work/interposed.so" "$repository/Tests/EndToEnd/harness/interposed.c" -ldl
run_gatehouse gatehouse "${within[@]}" env LD_PRELOAD="$work/interposed.so" INTERPOSED_CLOCK="$work/clock"
gatehouse=${process[gatehouse]}
cp "$work/gatehouse.yaml" "$work/gatehouse.first.yaml"
check_proxy gatehouse
[ "$(protocol_over_tls gatehouse --http2)" = 2 ] || fail "gatehouse does not speak HTTP/2 over TLS"

problems=0
problem() {
    problems=$((problems + 1))
    echo "PROBLEM: $*"
}

# metric NAME: a sample's whole part; without labels, the sum over all of them.
metric() {
    get "http://127.0.0.1:$admin_port/metrics" | awk -v name="${1//\"/\\\"}" '
        $1 == name || index($1, name "{") == 1 { sum += $2; there = 1 }
        END { if (there) print int(sum) }'
}

# now WORD…: tells the apps with sessions what is going on; see soak_sessions.py.
now() {
    echo "$*" >"$work/situation.new"
    mv "$work/situation.new" "$work/situation"
}

# set_peers PATH…: what those around the gateway do from now on; see soak_peers.py.
set_peers() {
    local path
    for path in "$@"; do
        get -f -o /dev/null -X POST "http://127.0.0.1:$control_port/$path" || fail "no control over $path"
    done
}

# count_of NAME FILE: of lines "name count".
count_of() { awk -v name="$1" '$1 == name { print $2; there = 1 } END { if (!there) print 0 }' "$2"; }

now
: >"$work/problems"
"${later[@]}" python3 "$loadtest/soak_sessions.py" "${port[gatehouse]}" "$pool_port" "$work" "$sessions" \
    >"$work/sessions.log" 2>&1 &
process[sessions]=$!
for ((tries = 0; tries < 300; tries++)); do
    [ -e "$work/signed-in" ] && break
    sleep 0.1
done
[ -e "$work/signed-in" ] || fail "the sessions did not begin: $(tail -3 "$work/sessions.log")"

# fill: each event loop keeps 10 000 verified tokens. They are there from the start, so that whatever memory grows by later
# is something else. wrk takes all of its time also when the last token was sent.
fill() {
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        python3 "$loadtest/soak_tokens.py" https://fill.example "$fill_secret" 10000 "$hundred_days" >"$work/tokens/fill"
        ONCE=1 TOKENS=$work/tokens/fill "${later[@]}" wrk -t1 -c64 -d4s --timeout 20s -s "$loadtest/load.lua" \
            "http://127.0.0.1:${port[gatehouse]}/fill" >"$work/wrk" 2>&1
        kill -0 "$gatehouse" 2>/dev/null || fail "gatehouse has ended: $(tail -5 "$work/gatehouse.log")"
        [ "$(metric 'gatehouse_token_cache_total{result="miss"}')" -lt 30000 ] || return 0
    done
    fail "the caches of verified tokens did not fill up: $(tail -3 "$work/wrk")"
}
fill
first_stalls=$(metric gatehouse_event_loop_stalls_total)

# ---- Load

# mixed PREFIX SECONDS: wrk with mixed.lua against the routes below PREFIX; its counts are in $work/mixed<prefix>.
mixed() {
    local tokens=$work/tokens
    [ "$1" != /other ] || tokens=$work/partner
    PREFIX=$1 GOOD=$tokens/many BAD=$(cat "$tokens/altered") "${later[@]}" \
        wrk -t1 -c"$connections" -d"${2}s" --timeout 20s \
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
    "${later[@]}" h2load -t1 -c8 -m8 -D5 -H "Authorization: Bearer $hot" "https://127.0.0.1:${tls_port[gatehouse]}/api/10k" >"$work/h2load" 2>&1
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
    "${later[@]}" python3 "$loadtest/connections.py" vanish "${port[gatehouse]}" "$hot" 4 >/dev/null & jobs+=($!)
    for _ in 1 2 3; do
        sleep 1
        reload
    done
    wait "${jobs[@]}" || problem "a load generator failed"
    judge /api yes
    judge /other yes
    grep -Eq 'status codes: .* 0 3xx, 0 4xx, 0 5xx' "$work/h2load" ||
        problem "HTTP/2: $(grep 'status codes' "$work/h2load")"
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
    start_backend "$1"
    wait "${jobs[@]}" || problem "a load generator failed"
    judge "$2" no
    judge "$3" yes
}

# shellcheck source=deploy/loadtest/soak_trouble.sh
. "$loadtest/soak_trouble.sh"

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

stalls_so_far() { echo $(($(metric gatehouse_event_loop_stalls_total) - first_stalls)); }

sample() {
    read -r resident anonymous <<<"$(memory_kib "$gatehouse")"
    # Connections to upstreams are kept for a minute, as many as there were in the load.
    stalls=$(stalls_so_far)
    descriptors=$(($(find "/proc/$gatehouse/fd" -mindepth 1 | wc -l) - $(metric gatehouse_upstream_server_connections_idle)))
}

# told: takes over the problems that the apps with sessions have noted since the last time.
told_lines=0
told() {
    local line
    while IFS= read -r line; do
        told_lines=$((told_lines + 1))
        problem "$line"
    done < <(tail -n "+$((told_lines + 1))" "$work/problems")
}

signals=(QUIT TERM KILL)
cycle=0
earlier_stalls=0
while [ $cycle -lt 2 ] || [ $SECONDS -lt $end ]; do
    cycle=$((cycle + 1))
    signal=${signals[cycle % 3]}
    all_well
    stalls_well=$(stalls_so_far)
    receivers_fail
    if ((cycle % 2)); then restart backend /api /other "$signal"; else restart other /other /api "$signal"; fi
    stalls_restart=$(stalls_so_far)
    elsewhere
    set_peers audit/well users/well
    kill -0 "$gatehouse" 2>/dev/null || fail "gatehouse has ended: $(tail -5 "$work/gatehouse.log")"
    now pause
    gone
    sample
    now
    told
    [ $cycle -gt 1 ] || { first_anonymous=$anonymous first_descriptors=$descriptors; }
    echo "cycle $cycle ($signal, receivers $audit_mode and $users_mode, key sets $keys_mode, $reloads reloads so far):" \
        "$(awk '$1 == "mixed" { sum += $2 } END { print sum }' "$work"/mixed-*) requests in the last parts," \
        "$(count_of refreshes "$work/counts") refreshes so far, stalls in the three parts:" \
        "$((stalls_well - earlier_stalls)), $((stalls_restart - stalls_well)), $((stalls - stalls_restart));" \
        "$((resident / 1024)) MB resident ($((anonymous / 1024)) MB anonymous), $descriptors descriptors," \
        "$(metric gatehouse_outbox_waiting) messages waiting, $problems problems so far"
    earlier_stalls=$stalls
done

growth=$(((anonymous - first_anonymous) / 1024))
((growth <= maximum_growth)) || problem "anonymous memory grew by $growth MB since the first cycle (at most $maximum_growth)"
((descriptors - first_descriptors <= maximum_descriptors)) ||
    problem "descriptors went from $first_descriptors to $descriptors (at most $maximum_descriptors more)"

kill -TERM "${process[sessions]}"
wait "${process[sessions]}" || problem "a session was lost"
unset "process[sessions]"
told
stalls_sessions=$(stalls_so_far)
all_received
stalls=$(stalls_so_far)
((stalls <= maximum_stalls)) || problem "event loops stalled $stalls times (at most $maximum_stalls)," \
    "$((stalls_sessions - earlier_stalls)) of them as the sessions ended and $((stalls - stalls_sessions)) after it:" \
    "$(get "http://127.0.0.1:$admin_port/metrics" | grep '^gatehouse_event_loop_stalled_seconds_total')"

kill -TERM "$gatehouse"
wait "$gatehouse" || problem "gatehouse ended with status $?"
unset "process[gatehouse]"

echo "apps: $(paste -s -d , "$work/counts" | sed 's/,/, /g'); received: $(paste -s -d , "$work/received" | sed 's/,/, /g')"
echo "$cycle cycles, anonymous memory $growth MB over the first, descriptors $first_descriptors → $descriptors, $stalls stalls," \
    "$(tail -1 "$work/sessions.log"): $problems problems"
[ $problems = 0 ]
all_good=yes
