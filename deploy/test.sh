#!/usr/bin/env bash
# Runs every test: swift test, the end-to-end tests against the release binary, the lints and the fuzz targets; with
# --long, the first two kinds under the thread and the address sanitizer too.
# Installs what is missing (apt, and pip into .venv). The last line is "N passed, N failed, N skipped"; the exit status is
# 0 only without failures.
#
#   deploy/test.sh [--long]      --long: also the end-to-end tests that take minutes; ten minutes for each fuzz target;
#                                swift test and the end-to-end tests once more with each sanitizer (two more builds);
#                                the limits of what verifying a token may cost
set -uo pipefail

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/requirements.sh"
exec </dev/null
cd "$repository" || exit 1

pytest_options=()
fuzz_seconds=8
sanitizers=()
benchmark_options=(--short)
for argument in "$@"; do
    case $argument in
    --long)
        pytest_options+=(--long)
        fuzz_seconds=600
        sanitizers=(thread address)
        benchmark_options=(--check)
        ;;
    *) fail "unknown option: $argument (there is --long)" ;;
    esac
done

# Servers of Tests/EndToEnd/test_real_backends.py, and runtimes of test_examples.py. Other releases of Debian have other
# packages: what apt does not have is left out, and the tests that want it say so. Express wants a Node.js that is there.
need_real_servers() {
    (need_unpacked usr/sbin/apache2 apache2-bin libapr1 libaprutil1 libjansson4 liblua5.3-0 libxml2) || true
    (need_unpacked usr/sbin/php-fpm8.2 php8.2-fpm php8.2-common php8.2-opcache libapparmor1 libargon2-1 libsodium23 \
        libxml2) || true
    if [[ " ${pytest_options[*]} " == *" --long "* ]]; then
        (command -v java >/dev/null || need_packages default-jre-headless) || true
        (need_unpacked usr/share/java/tomcat10-catalina.jar libtomcat10-java libeclipse-jdt-core-java) || true
    fi
    (command -v go >/dev/null || need_packages golang-go) || true
    command -v node >/dev/null || return 0
    (need_unpacked usr/share/nodejs/express node-{accepts,array-flatten,body-parser,bytes,content-disposition,content-type} \
        node-{cookie,cookie-signature,debug,deep-equal,depd,encodeurl,escape-html,etag,express,finalhandler,fresh} \
        node-{function-bind,http-errors,iconv-lite,inherits,ipaddr.js,media-typer,merge-descriptors,methods,mime} \
        node-{mime-types,ms,negotiator,object-inspect,on-finished,parseurl,path-to-regexp,proxy-addr,qs,range-parser} \
        node-{raw-body,safe-buffer,send,serve-static,setprototypeof,statuses,toidentifier,type-is,unpipe,utils-merge} \
        node-{vary,debbundle-es-to-primitive}) || true
    (need_unpacked usr/share/nodejs/jose node-jose) || true
}

# A failed installation is a failure of its own, with the usual last line.
if ! (
    need_packages ca-certificates curl libcurl4-openssl-dev libnghttp2-dev libpq-dev libpq5 libsqlite3-dev libssl-dev pkg-config python3 \
        python3-venv binutils chromium-headless-shell groff lintian systemd zlib1g-dev
    need_unpacked usr/bin/promtool prometheus
    need_unpacked usr/sbin/logrotate logrotate libpopt0
    need_unpacked usr/sbin/nginx nginx
    need_unpacked usr/bin/caddy caddy
    (need_unpacked usr/bin/pebble pebble) || true
    need_postgres
    need_real_servers
    need_swift
    need_python "$repository/Tests/EndToEnd/requirements.txt"
); then
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
passed=0
failed=0
skipped=0

# The names of what failed, a line each: they are printed at the end, where they are found in a long log.
failures=$results/failures
: >"$failures"
# Likewise of the end-to-end tests that passed only when they ran once more, by themselves.
repeated=$results/repeated
: >"$repeated"

# count PASSED FAILED [SKIPPED]
count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + ${3:-0}))
}

# With the seconds since the start.
headline() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

# Runs one check that counts as a single test.
single() {
    headline "$*"
    if "$@"; then
        count 1 0
    else
        count 0 1
        echo "$*" >>"$failures"
    fi
}

# Swift Testing ends with "Test run with N tests in M suites passed after …" or "… failed after … with K issues.";
# the failed and the skipped ones are counted by their own lines. Before it builds, SwiftPM looks through the imports of each
# target for one of a target that Package.swift does not name for it; that changes nothing of the build itself.
#
# swift_tests [arguments of swift test…]
swift_tests() {
    headline swift test "$@"
    local status=0 total broken left_out
    timeout --kill-after 10 2700 swift test --explicit-target-dependency-import-check error "$@" \
        >"$results/swift" 2>&1 || status=$?
    # The arguments of a test are in its lines, whatever their length; what passed is of no interest.
    if [ "$status" != 0 ]; then grep -vE '^(◇|✔|\[[0-9]+/[0-9]+\]) ' "$results/swift" | cut -c1-500; fi
    grep -a 'Test run with ' "$results/swift" | tail -1
    total=$(sed -nE 's/.*Test run with ([0-9]+) tests?.* (passed|failed) after.*/\1/p' "$results/swift" | tail -1)
    if [ -z "$total" ] || [ "$total" = 0 ]; then
        echo "no count of tests in swift test's output" | tee -a "$failures"
        count 0 1
        return
    fi
    grep -aE '^✘ Test (".*"|[^ ]+\(.*\))( with [0-9]+ test cases?)? failed after' "$results/swift" | cut -c1-200 \
        >"$results/broken"
    broken=$(wc -l <"$results/broken")
    # A run that failed in a way no test's line tells (a crash, an issue outside a test) is one failure more.
    if [ "$status" != 0 ] && [ "$broken" = 0 ]; then
        echo "swift test $*: status $status" >"$results/broken"
        broken=1
    fi
    cat "$results/broken" >>"$failures"
    [ "$broken" -gt "$total" ] && total=$broken
    left_out=$(grep -cE '^➜ Test (".*"|[^ ]+\(.*\))( with [0-9]+ test cases?)? skipped' "$results/swift")
    count $((total - broken - left_out)) "$broken" "$left_out"
}

# pytest's summaries, read from its JUnit files: a count that cannot be read is a failure.
end_to_end_tests() {
    headline Tests/EndToEnd/run.sh "${pytest_options[@]}"
    local status=0 counts
    [ -z "${GATEHOUSE_CORPORA:-}" ] && [ -d ../shared/corpora ] && export GATEHOUSE_CORPORA=$repository/../shared/corpora
    mkdir "$results/end-to-end"
    Tests/EndToEnd/run.sh "$results/end-to-end" "${pytest_options[@]}" || status=$?
    counts=$(.venv/bin/python - "$results"/end-to-end/*.xml <<'PYTHON'
import sys
import xml.etree.ElementTree as tree


def suites_of(again: bool) -> list:
    reports = [report for report in sys.argv[1:] if report.endswith("-again.xml") == again]
    return [suite for report in reports for suite in tree.parse(report).getroot().iter("testsuite")]


def names(suites: list, failing: bool) -> set[str]:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    broken = {f"{each.get('classname')}.{each.get('name')}" for each in cases
              if each.find("failure") is not None or each.find("error") is not None}
    return broken if failing else {f"{each.get('classname')}.{each.get('name')}" for each in cases} - broken


total = failed = skipped = 0
for suite in suites_of(False):
    total += int(suite.get("tests"))
    failed += int(suite.get("failures")) + int(suite.get("errors"))
    skipped += int(suite.get("skipped"))
broken = names(suites_of(False), True)
passed_alone = broken & names(suites_of(True), False)
failed -= len(passed_alone)
print(total - failed - skipped, failed, skipped)
with open(sys.argv[1].rpartition("/")[0] + "/passed-alone", "w") as names_of_alone:
    names_of_alone.writelines(f"{name}\n" for name in sorted(passed_alone))
for name in sorted(broken - passed_alone):
    print(name, file=sys.stderr)
PYTHON
    ) 2>>"$failures" || counts=
    if [ -z "$counts" ] || [[ "$counts" = "0 0 "* ]]; then
        echo "no count of tests in pytest's report" | tee -a "$failures"
        count 0 1
        return
    fi
    cat "$results/end-to-end/passed-alone" >>"$repeated"
    # shellcheck disable=SC2086 # three numbers
    set -- $counts
    if [ "$status" != 0 ] && [ "$2" = 0 ]; then
        echo "Tests/EndToEnd/run.sh: status $status" >>"$failures"
        set -- "$1" 1 "$3"
    fi
    count "$1" "$2" "$3"
}

# Text from outside is told apart by its bytes; that the check can fail is checked first. It reads what swift test built.
untrusted_text() {
    python3 Tests/Lint/test_untrusted_text.py && python3 Tests/Lint/untrusted_text.py
}

# That comments begin with their subject; that the check can fail is checked first.
comments() {
    python3 Tests/Lint/test_comments.py && python3 Tests/Lint/comments.py
}

# Every dependency that Package.swift names is used; that the check can fail is checked first.
dependencies() {
    python3 Tests/Lint/test_dependencies.py && python3 Tests/Lint/dependencies.py
}

# The code gives each reason that there is; that the check can fail is checked first.
reasons() {
    python3 Tests/Lint/test_reasons.py && python3 Tests/Lint/reasons.py
}

# Each fuzz target counts as a test.
fuzz() {
    headline Tests/Fuzz/run.sh "$fuzz_seconds"
    Tests/Fuzz/run.sh "$fuzz_seconds" 2>&1 | tee "$results/fuzz"
    local status=${PIPESTATUS[0]} sound broken
    sound=$(grep -c '^passed ' "$results/fuzz")
    broken=$(grep -c '^failed ' "$results/fuzz")
    grep '^failed ' "$results/fuzz" >>"$failures"
    if [ "$status" != 0 ] && [ "$broken" = 0 ]; then
        echo "Tests/Fuzz/run.sh: status $status" >>"$failures"
        broken=1
    fi
    count "$sound" "$broken"
}

# The cost of a token: that it can be measured, and with --check that it is within its limits.
verify_benchmark() {
    deploy/build.sh verify-benchmark >"$results/build" 2>&1 || {
        tail -40 "$results/build"
        return 1
    }
    .build/release/verify-benchmark "$@"
}

single swift format lint --strict --recursive Sources Tests Package.swift
single Tests/Lint/locks.py
single comments
single reasons
single dependencies
# The tests of PostgreSQL start servers, and read their output to its end. They are a process of their own: in one process
# with all other tests, on a busy machine, two runs of six hung. Processes that other tests start may hold the output open.
swift_tests --skip PostgresTests
swift_tests --filter PostgresTests
single untrusted_text
headline deploy/build.sh
if deploy/build.sh >"$results/build" 2>&1; then
    end_to_end_tests
    fuzz
    single verify_benchmark "${benchmark_options[@]}"
else
    tail -40 "$results/build"
    echo deploy/build.sh >>"$failures"
    count 0 1
fi
for sanitizer in "${sanitizers[@]}"; do
    single Tests/Sanitize/run.sh "$sanitizer" swift --skip PostgresTests
    single Tests/Sanitize/run.sh "$sanitizer" swift --filter PostgresTests
    single Tests/Sanitize/run.sh "$sanitizer" end-to-end
done

if [ -s "$repeated" ]; then
    headline failed at first, passed by themselves
    cat "$repeated"
fi
if [ -s "$failures" ]; then
    headline failed
    head -100 "$failures"
fi
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
