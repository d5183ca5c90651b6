#!/usr/bin/env bash
# Builds with a sanitizer, in a directory of its own, and runs tests; a report from any process fails the run.
#
#   Tests/Sanitize/run.sh thread|address swift [arguments of swift test…]
#   Tests/Sanitize/run.sh thread|address end-to-end [arguments of pytest, in Tests/EndToEnd…]
#
# The builds are debug builds in .build-tsan and .build-asan; reports are kept in their folder `reports`. The
# end-to-end tests wait longer for everything, and don't look at what a process takes of memory, which is mostly the
# sanitizer's. They want the Python environment that deploy/test.sh makes; PYTHON names another one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() {
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
[ $# -ge 2 ] || usage
sanitizer=$1
tests=$2
shift 2
case $sanitizer in
thread) built=.build-tsan ;;
address) built=.build-asan ;;
*) usage ;;
esac
[ "$tests" = swift ] || [ "$tests" = end-to-end ] || usage

reports=$PWD/$built/reports/$tests
python=${PYTHON:-$PWD/.venv/bin/python}
rm -rf "$reports"
mkdir -p "$reports"

# A process with a data race goes on, so that all are seen, and ends with 66; an error of memory ends it at once. Leaks
# are not looked for: what a server keeps to its end is not taken apart then, and pointers that Swift keeps shifted or
# with bits of its own (weak references, payloads of enums) are no pointers to the sanitizer.
options="log_path=$reports/report:exitcode=66"
export TSAN_OPTIONS="$options:halt_on_error=0:atexit_sleep_ms=0:second_deadlock_stack=1"
export ASAN_OPTIONS="$options:detect_leaks=0:detect_stack_use_after_return=1"

# HappensBefore.c is linked in; its sum is in the name because only another name makes swift link again.
build=(--sanitize="$sanitizer" --build-path "$built")
if [ "$sanitizer" = thread ]; then
    source=Tests/Sanitize/HappensBefore.c
    object=$PWD/$built/HappensBefore-$(cksum <"$source" | cut -d' ' -f1).o
    runtime=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
    "$runtime/../../bin/clang" -O1 -Wall -Werror -c "$source" -o "$object"
    build+=(-Xlinker "$object")
fi

swift_tests() {
    local status=0
    swift test "${build[@]}" "$@" >"$built/swift-test.log" 2>&1 || status=$?
    if [ "$status" != 0 ]; then grep -avE '^(◇|✔|\[[0-9]+/[0-9]+\]) ' "$built/swift-test.log" | cut -c1-500 | tail -200; fi
    grep -a 'Test run with ' "$built/swift-test.log" || status=1
    return "$status"
}

end_to_end_tests() {
    if ! swift build "${build[@]}" --product gatehouse >"$built/build.log" 2>&1; then
        tail -40 "$built/build.log"
        return 1
    fi
    export GATEHOUSE_SANITIZER=$sanitizer GATEHOUSE_SANITIZER_REPORTS=$reports GATEHOUSE_BINARY=$PWD/$built/debug/gatehouse
    rm -rf "$built/end-to-end"
    mkdir "$built/end-to-end"
    PYTHON=$python Tests/EndToEnd/run.sh "$built/end-to-end" "$@"
}

status=0
case $tests in
swift) swift_tests "$@" || status=1 ;;
end-to-end) end_to_end_tests "$@" || status=1 ;;
esac

# Also what was written after the last test, when the processes that all of them shared ended.
for report in "$reports"/*; do
    [ -e "$report" ] || continue
    printf '\n%s\n' "$report"
    head -200 "$report"
    status=1
done
exit "$status"
