#!/usr/bin/env bash
# Runs the end-to-end tests in several processes, two more than there are cores, each with a share of the files: most
# tests wait more than they work.
# Then, on their own, those that measure what something costs or takes. Shows each process's output when it has ended.
#
#   Tests/EndToEnd/run.sh REPORTS [options of pytest…]    REPORTS: a directory, which gets a JUnit file of each process
#
# Wants the Python environment that deploy/test.sh makes; PYTHON names another one.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || {
    sed -n '6s/^# *//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
reports=$(cd "$1" && pwd) || exit 2
shift
python=${PYTHON:-$here/../../.venv/bin/python}
shares=$(($(nproc) + 2))
[ "$shares" -le 4 ] || shares=4

# Names of tests are from here, for a process that is started here.
cd "$here" || exit 1
run() {
    local part=$1
    shift
    "$python" -m pytest -q --part "$part" --junit-xml "$reports/${part%/*}.xml" "$@" >"$reports/${part%/*}.log" 2>&1
}

declare -A running=() # part → process
parts=()
for number in $(seq "$shares"); do parts+=("$number/$shares"); done
for part in "${parts[@]}"; do
    run "$part" "$@" &
    running[$part]=$!
done

status=0
empty=0
ended() {
    printf '\n-- part %s\n' "$1"
    cat "$reports/${1%/*}.log"
    case $2 in
    0) ;;
    5) empty=$((empty + 1)) ;; # no test of this part was asked for
    *) status=1 ;;
    esac
}
for part in "${parts[@]}"; do
    wait "${running[$part]}"
    ended "$part" $?
done
run alone "$@"
ended alone $?
# Nothing at all was asked for, or the names were wrong.
[ "$empty" -le "$shares" ] || status=1
exit "$status"
