# Sourced by quickstart.sh, test.sh and loadtest/common.sh: says what a step does and gets what a step needs.
# shellcheck shell=bash

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() {
    printf '\nerror: %s\n' "$*" >&2
    exit 1
}

# absolute VARIABLE…: makes the paths in them, relative to the working directory, absolute ones.
absolute() {
    local name
    for name in "$@"; do
        case ${!name:-} in
        '' | /*) ;;
        *) printf -v "$name" '%s/%s' "$PWD" "${!name}" ;;
        esac
    done
}

# Runs a command as root: directly, or through sudo (without asking when there is nobody to answer).
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
    else
        fail "not root and no sudo: cannot run '$*'. Run it as root, then start this script again."
    fi
}

# Installs those of the named Debian packages that are missing. Nothing is done, and no root needed, when none is.
need_packages() {
    local package missing=()
    command -v dpkg-query >/dev/null || fail "this script installs its parts with apt; on this system install yourself: $*"
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    echo "installing with apt: ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
        tail -20 "$log" >&2
        fail "apt could not install: ${missing[*]} (all of its output: $log)"
    fi
    rm -f "$log"
}

# Unpacks a Debian package into .build/tools, where one of its files is wanted and not what installing it brings along,
# such as a service that starts: need_unpacked FILE PACKAGE…
need_unpacked() {
    local file=$1 tools=$repository/.build/tools download package
    shift
    [ -e "$tools/$file" ] && return
    echo "unpacking $* into .build/tools"
    download=$(mktemp -d)
    chmod 755 "$download"
    if ! (cd "$download" && { apt-get download -q "$@" || { as_root apt-get update -q && apt-get download -q "$@"; }; }) \
        >"$download/log" 2>&1 </dev/null; then
        tail -20 "$download/log" >&2
        fail "apt could not download $*"
    fi
    mkdir -p "$tools"
    for package in "$download"/*.deb; do dpkg-deb --extract "$package" "$tools"; done
    rm -rf "$download"
}

# PostgreSQL's servers for tests and measurements, unpacked: installed, the package would start one of its own. Other
# releases of Debian have another version. There the tests take one that is installed, or are skipped and counted.
need_postgres() {
    (need_packages libc-ares2 libevent-2.1-7 libicu72 liblz4-1 libpam0g libxml2 openssl tzdata \
        && need_unpacked usr/lib/postgresql/15/bin/initdb postgresql-15 postgresql-client-15 \
        && need_unpacked usr/sbin/pgbouncer pgbouncer) || true
}

# The Swift toolchain is the one thing that is not installed here.
need_swift() {
    command -v swift >/dev/null || fail "no 'swift' on the PATH. Gatehouse wants Swift 6.3 or later: https://www.swift.org/install/linux/"
    local major minor
    read -r major minor < <(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    [ -n "${minor:-}" ] || fail "'swift --version' does not tell its version"
    ((major > 6 || (major == 6 && minor >= 3))) || fail "Swift $major.$minor is too old: Gatehouse wants 6.3 or later"
}

# shellcheck disable=SC2034 # used where this is sourced
release_binary=$repository/.build/release/gatehouse

# Runs a build, appends its output to a file, and shows how far it is: `[n/517]` and the time gone, on a terminal in one line
# that moves, elsewhere in a line every 10 seconds. Ctrl-C ends the build: it is in the foreground, and what looks at it is
# not.
#
# with_progress LOG COMMAND…
with_progress() {
    local log=$1 watcher status=0
    shift
    : >>"$log"
    watch_progress "$log" $$ &
    watcher=$!
    "$@" >>"$log" 2>&1 </dev/null || status=$?
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null || true
    [ ! -t 1 ] || printf '\r\033[K'
    return "$status"
}

# watch_progress LOG PID: until the process ends, or this one is ended.
watch_progress() {
    local log=$1 pid=$2 began=$SECONDS every=${progress_seconds:-10} step shown=''
    [ ! -t 1 ] || every=1
    while kill -0 "$pid" 2>/dev/null; do
        step=$(tail -c 4096 "$log" | tr '\r' '\n' | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -1) || step='preparing'
        step="$step $(((SECONDS - began) / 60)):$(printf '%02d' $(((SECONDS - began) % 60)))"
        if [ -t 1 ]; then
            printf '\r\033[K  %s' "$step"
        elif [ "$step" != "$shown" ]; then
            printf '  %s\n' "$step"
        fi
        shown=$step
        sleep "$every"
    done
}

# Makes the project's own Python environment (.venv), with the packages pinned in the named requirements file.
need_python() {
    local requirements=$1 venv=$repository/.venv python stamp
    python=$(command -v python3) || fail "no python3"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than Python 3.11"
    if ! "$venv/bin/python" -c '' 2>/dev/null; then
        rm -rf "$venv"
        "$python" -m venv "$venv" || fail "$python could not make a virtual environment in $venv"
    fi
    # Asking pip takes seconds; nothing is asked while the requirements are those of the last time.
    stamp=$venv/.installed-$(basename "$(dirname "$requirements")")
    if ! cmp -s "$stamp" <(requirements_text "$requirements"); then
        echo "installing Python packages into .venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input -r "$requirements" \
            || fail "pip could not install what $requirements names"
        requirements_text "$requirements" >"$stamp"
    fi
}

# A requirements file with those it includes.
requirements_text() {
    cat "$1"
    local included
    sed -n 's/^-r //p' "$1" | while read -r included; do requirements_text "$(dirname "$1")/$included"; done
}

# Whether something listens on this loopback port.
listening() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Polls until the URL answers 200, at most 20 seconds; fails when the process, whose log is named, has ended.
wait_for() {
    local name=$1 url=$2 pid=$3 log=$4 tries
    for ((tries = 0; tries < 200; tries++)); do
        kill -0 "$pid" 2>/dev/null || { tail -20 "$log" >&2; fail "$name ended while starting"; }
        [ "$(curl --noproxy '*' -s -o /dev/null -m 2 -w '%{http_code}' "$url")" = 200 ] && return
        sleep 0.1
    done
    tail -20 "$log" >&2
    fail "$name did not become ready within 20 seconds"
}
