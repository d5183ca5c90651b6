#!/usr/bin/env bash
# The least that a request costs on SwiftNIO beside nginx, on this machine, in the same run: how much of Gatehouse's cost is
# not its own.
#
# Both send the same 275 bytes as a static response, on the first core, one worker each. With connections that stay open
# (64 of them), and with a new one for each request (16 at a time), as hot-token and connections of compare.sh have them.
# The rounds alternate. Prints CPU for a request, and the medians of the ratios within a round.
#
#   deploy/loadtest/floor.sh          ROUNDS=5 SECONDS_EACH=5
set -euo pipefail

# shellcheck source=deploy/loadtest/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-5}

need_packages ca-certificates curl libcurl4-openssl-dev libnghttp2-dev libpq-dev libsqlite3-dev libssl-dev nginx-light pkg-config \
    procps python3 wrk zlib1g-dev
need_swift
echo "building the server on SwiftNIO"
"$repository/deploy/build.sh" floor-benchmark >/dev/null </dev/null || fail "deploy/build.sh floor-benchmark failed"
floor=$(dirname "$release_binary")/floor-benchmark

read -r nginx_port open_port closing_port < <(free_ports 3)
body=$(small_answer)
cat >"$work/nginx.conf" <<CONF
$(nginx_main nginx)
http {
    $(nginx_http nginx)
    server {
        listen 127.0.0.1:$nginx_port;
        default_type application/json;
        location / { return 200 '$body'; }
    }
}
CONF
start_nginx nginx "http://127.0.0.1:$nginx_port/" "${on_first[@]}"
start open "http://127.0.0.1:$open_port/" "${on_first[@]}" "$floor" "$open_port" "$body"
start closing "http://127.0.0.1:$closing_port/" "${on_first[@]}" "$floor" "$closing_port" "$body" --close
nginx_worker=$(worker_of "${process[nginx]}")
# As long as a token of compare.sh.
token=$(printf 'x%.0s' {1..1089})

# round CASE SERVER PORT PID SECONDS: one run of wrk; prints "case server µs requests/s".
round() {
    local before after figures requests failures duration connections=64
    [ "$1" = hot-token ] || connections=16
    before=$(cpu_ticks "$4")
    figures=$(CLOSE=$([ "$1" = hot-token ] || echo 1) "${on_others[@]}" wrk -t1 -c"$connections" -d"${5}s" --latency \
        -s "$loadtest/load.lua" -H "Authorization: Bearer $token" "http://127.0.0.1:$3/api/items" |
        sed -n 's/^figures //p')
    after=$(cpu_ticks "$4")
    read -r requests failures duration _ <<<"$figures"
    [ "$failures" = 0 ] || fail "$1, $2: $failures of $requests requests failed"
    awk -v name="$1 $2" -v ticks=$((after - before)) -v hertz="$(getconf CLK_TCK)" -v requests="$requests" \
        -v duration="$duration" 'BEGIN { printf "%s %.2f %.0f\n", name, ticks / hertz * 1e6 / requests, requests / duration }'
}

# both CASE SECONDS: a round of each server.
both() {
    round "$1" nginx "$nginx_port" "$nginx_worker" "$2"
    if [ "$1" = hot-token ]; then
        round "$1" SwiftNIO "$open_port" "${process[open]}" "$2"
    else
        round "$1" SwiftNIO "$closing_port" "${process[closing]}" "$2"
    fi
}

for case in hot-token connections; do
    both "$case" 1 >/dev/null
    for ((number = 1; number <= rounds; number++)); do both "$case" "$seconds" >>"$work/rounds"; done
done

echo "$(machine), $("$nginx" -v 2>&1), $rounds rounds of $seconds s"
echo
python3 - "$work/rounds" <<'PYTHON'
import statistics
import sys

rounds: dict[str, dict[str, list[tuple[float, float]]]] = {}
for line in open(sys.argv[1]):
    case, server, cpu, rate = line.split()
    rounds.setdefault(case, {}).setdefault(server, []).append((float(cpu), float(rate)))

print("| connections as in | server | CPU µs/request | requests/s |")
print("|---|---|---|---|")
for case, servers in rounds.items():
    for server, figures in servers.items():
        cpu, rate = (statistics.median(each) for each in zip(*figures))
        print(f"| {case} | {server} | {cpu:.1f} | {rate:.0f} |")
for case, servers in rounds.items():
    ratios = [mine[0] / theirs[0] for theirs, mine in zip(servers["nginx"], servers["SwiftNIO"])]
    print(f"\n{case}: SwiftNIO / nginx {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")
PYTHON
