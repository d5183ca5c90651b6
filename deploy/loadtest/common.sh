# Sourced by run.sh, compare.sh and soak.sh: starts and stops what a measurement needs, and reads what it costs.
# shellcheck shell=bash

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/../requirements.sh"
# shellcheck disable=SC2034 # used where this is sourced
loadtest=$repository/deploy/loadtest
cd "$repository" || exit 1

# Thousands of connections want descriptors on both sides.
ulimit -Sn "$(ulimit -Hn)"

work=$(mktemp -d)
declare -A process=() # name → the process that was started

# stop NAME [SIGNAL]: ends a process that `start` started and waits for its end; nothing when there is none.
stop() {
    local pid=${process[$1]:-}
    [ -n "$pid" ] || return 0
    kill -s "${2:-TERM}" "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    unset "process[$1]"
}

# shellcheck disable=SC2317 # called by the trap
stop_all() {
    local name
    for name in "${!process[@]}"; do kill "${process[$name]}" 2>/dev/null || true; done
    for name in "${!process[@]}"; do wait "${process[$name]}" 2>/dev/null || true; done
    rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT TERM

# start NAME URL COMMAND…: runs the command until the URL answers 200; its output goes to a log in the work directory.
start() {
    local name=$1 url=$2
    shift 2
    "$@" >>"$work/$name.log" 2>&1 </dev/null &
    process[$name]=$!
    wait_for "$name" "$url" $! "$work/$name.log"
}

# The binary under test: GATEHOUSE_BINARY, or a release build.
need_gatehouse() {
    if [ -z "${GATEHOUSE_BINARY:-}" ]; then
        need_swift
        echo "building the release binary"
        "$repository/deploy/build.sh" >/dev/null </dev/null || fail "deploy/build.sh failed"
        GATEHOUSE_BINARY=$release_binary
    fi
    [ -x "$GATEHOUSE_BINARY" ] || fail "no program $GATEHOUSE_BINARY"
}

# The proxy under test has the first core to itself; what loads it and answers it share the others.
cores=$(nproc)
on_first=() on_others=()
# shellcheck disable=SC2034 # used where this is sourced
if [ "$cores" -gt 1 ]; then
    on_first=(taskset -c 0)
    on_others=(taskset -c "1-$((cores - 1))")
fi

# So many free ports of the loopback interface, in one line.
free_ports() {
    python3 -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(each.getsockname()[1] for each in sockets))' "$1"
}

# GET of a loopback URL with further curl options; prints the body.
get() { curl --noproxy '*' -s -m 5 "$@"; }

# The status a loopback URL answers with, and 000 when there is no answer.
status_of() { get -o /dev/null -w '%{http_code}' "$@" || true; }

# User and system time of a process with all its threads, in clock ticks (proc(5): fields 14 and 15 of stat).
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# Memory of a process in KiB: resident, and the anonymous part of it, which is not the code and other pages of files.
memory_kib() { awk '$1 == "VmRSS:" { resident = $2 } $1 == "RssAnon:" { print resident, $2 }' "/proc/$1/status"; }

# The machine's description, for a line under the figures.
machine() { echo "$(date -u +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $cores cores"; }

# ---- nginx: the backend of all, and the plain proxy

nginx=$(command -v nginx || echo /usr/sbin/nginx)

# nginx's worker: the one child of the master.
worker_of() { pgrep -P "$1"; }

# start_nginx NAME URL COMMAND…: nginx with NAME.conf of the work directory, behind a command such as taskset.
start_nginx() {
    local name=$1 url=$2
    shift 2
    start "$name" "$url" "$@" "$nginx" -p "$work" -e stderr -c "$work/$name.conf"
}

# nginx_main NAME: what every nginx configuration here begins with. Started by root, the workers stay root: the work
# directory is nobody else's.
nginx_main() {
    if [ "$(id -u)" = 0 ]; then echo "user root;"; fi
    cat <<CONF
daemon off; worker_processes 1; error_log stderr error; pid $work/$1.pid; worker_rlimit_nofile $(ulimit -Sn);
events { worker_connections 8192; }
CONF
}

# nginx_http NAME: what every http block here begins with.
nginx_http() {
    cat <<CONF
access_log off; server_tokens off; keepalive_requests 100000000; keepalive_timeout 600s; sendfile on;
client_body_temp_path $work/$1.body; proxy_temp_path $work/$1.proxy; fastcgi_temp_path $work/$1.fastcgi;
uwsgi_temp_path $work/$1.uwsgi; scgi_temp_path $work/$1.scgi;
CONF
}

# nginx_upstream PORT: the backend as the plain proxy knows it, with connections kept open.
nginx_upstream() {
    echo "upstream backend { server 127.0.0.1:$1; keepalive 1024; keepalive_requests 100000000; }"
}

# The plain proxy's settings for every request.
nginx_pass() {
    cat <<'CONF'
proxy_pass http://backend;
proxy_http_version 1.1;
proxy_set_header Connection "";
proxy_set_header Host $host;
proxy_set_header X-Forwarded-For $remote_addr;
CONF
}

# A JSON answer of 275 bytes.
small_answer() {
    python3 -c '
import json
text = json.dumps({"items": [{"id": number, "name": f"item {number}"} for number in range(7)], "note": ""})
print(text[:-2] + "x" * (275 - len(text)) + text[-2:], end="")'
}
