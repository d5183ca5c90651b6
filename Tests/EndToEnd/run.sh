#!/usr/bin/env bash
# Runs the end-to-end tests in several processes, two more than there are cores, each with a share of the files: most
# tests wait more than they work.
# Then, on their own, those that measure what something costs or takes. Shows each process's output when it has ended.
#
# Tests that fail, three at the most, run once more by themselves and are named: a machine that is shared takes its
# processors away, and a test misses its time then. A test fails when it fails again. With --long each failure counts.
#
#   Tests/EndToEnd/run.sh REPORTS [options of pytest…]    REPORTS: a directory, which gets a JUnit file of each process
#
# Wants the Python environment that deploy/test.sh makes; PYTHON names another one.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || {
    sed -n '/^#   Tests/s/^# *//p' "${BASH_SOURCE[0]}" >&2
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
    local part=$1 report=$reports/${1%/*}
    shift
    "$python" -m pytest -q --part "$part" -o cache_dir="$report.cache" --junit-xml "$report.xml" "$@" >"$report.log" 2>&1
}

# How many tests of a part, or files that could not be read, failed.
failures_of() {
    "$python" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' \
        "$reports/${1%/*}.cache/v/cache/lastfailed" 2>/dev/null || echo 0
}

# The failed tests of a part by themselves; their report's name ends with "-again.xml".
again() {
    local part=$1 report=$reports/${1%/*}
    shift
    "$python" -m pytest -q --part "$part" -o cache_dir="$report.cache" --last-failed --last-failed-no-failures none \
        --junit-xml "$report-again.xml" "$@" >"$report-again.log" 2>&1
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
    1) failed+=("$1") ;;
    *) status=1 ;;
    esac
}
failed=()
for part in "${parts[@]}"; do
    wait "${running[$part]}"
    ended "$part" $?
done

run alone "$@"
ended alone $?

missed=0
for part in "${failed[@]}"; do missed=$((missed + $(failures_of "$part"))); done
if [ "$missed" -gt 3 ] || [[ " $* " = *" --long "* ]]; then
    [ ${#failed[@]} = 0 ] || status=1
else
    for part in "${failed[@]}"; do
        printf '\n-- part %s: those that failed, by themselves\n' "$part"
        again "$part" "$@" || status=1
        cat "$reports/${part%/*}-again.log"
    done
fi
# Nothing at all was asked for, or the names were wrong.
[ "$empty" -le "$shares" ] || status=1
exit "$status"
