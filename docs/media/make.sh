#!/usr/bin/env bash
# Makes the pictures of README.md from the program itself: quickstart.svg, a recording of deploy/quickstart.sh --once, and
# dashboard.png, the dashboard of a gateway with some minutes of traffic in headless Chromium.
#
#   docs/media/make.sh [quickstart] [dashboard]      default: both
#
# Environment: GATEHOUSE_BINARY  show the dashboard of this binary instead of building one
#              GATEHOUSE_PORT, …  other ports for the quickstart, as deploy/quickstart.sh has them
set -euo pipefail

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../deploy/requirements.sh"
cd "$repository"

pictures=("$@")
[ $# -gt 0 ] || pictures=(quickstart dashboard)
for picture in "${pictures[@]}"; do
    case $picture in
    quickstart | dashboard) ;;
    *) fail "unknown picture: $picture (there are quickstart and dashboard)" ;;
    esac
done

need_packages ca-certificates chromium-headless-shell curl openssl python3 python3-venv

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of the tests' packages, which are a gigabyte, those that drive a gateway and a browser, in the versions pinned there.
need_python "$repository/deploy/example-backend/requirements.txt"
mkdir "$work/media"
grep -E '^(PyJWT|cryptography|pytest|websockets)==' Tests/EndToEnd/requirements.txt >"$work/media/requirements.txt"
need_python "$work/media/requirements.txt"
export PYTHONDONTWRITEBYTECODE=1

need_build() {
    need_packages libcurl4-openssl-dev libnghttp2-dev libpq-dev libsqlite3-dev libssl-dev pkg-config zlib1g-dev
    need_swift
}

# The quickstart runs in a copy of what it reads, so that it finds a finished build and leaves no traces here.
make_quickstart() {
    local copy=$work/gatehouse
    need_build
    swift build --product gatehouse
    swift build --product client-sample
    mkdir -p "$copy/.build/debug" "$work/bin"
    cp -R Config deploy "$copy/"
    ln -s "$repository/.venv" "$copy/.venv"
    cp .build/debug/{gatehouse,client-sample} "$copy/.build/debug/"
    # The build is done, and this is all that is asked of the compiler.
    printf '%s\n' '#!/bin/sh' 'echo "Swift version 6.3 (the binary is built already)"' >"$work/bin/swift"
    chmod 755 "$work/bin/swift"
    GATEHOUSE_BINARY='' PATH=$work/bin:$PATH .venv/bin/python docs/media/recording.py "$copy" docs/media/quickstart.svg
}

make_dashboard() {
    if [ -z "${GATEHOUSE_BINARY:-}" ]; then
        need_build
        echo "building the release binary (the first time takes some minutes)"
        "$repository/deploy/build.sh"
        GATEHOUSE_BINARY=$release_binary
    fi
    GATEHOUSE_BINARY=$(realpath "$GATEHOUSE_BINARY") PYTHONPATH=$repository/Tests/EndToEnd \
        .venv/bin/python docs/media/dashboard.py "$work/dashboard" docs/media/dashboard.png
}

for picture in "${pictures[@]}"; do
    "make_$picture"
    ls -l docs/media/"$picture".*g
done
