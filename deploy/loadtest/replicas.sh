#!/usr/bin/env bash
# Measures the processor time of a sign-in and of a refresh with one to four gateways on one PostgreSQL, the gateways' and
# PostgreSQL's, beside as many gateways with SQLite that share nothing: a gateway that has less to do at a time works
# through less at each wake-up, shared state or not.
#
# Cognito's part is a server that responds at once, whose time is not counted. Apps are spread evenly over the gateways.
# Each number of gateways has a PostgreSQL server of its own, started from Debian's package on a free port of loopback as an
# unprivileged user, with the settings of the package (fsync on). Rounds go from setup to setup. The tables have their
# medians, and ratios are taken within a round.
#
# With --each, calls and apps are those of one gateway, and more gateways have more of them.
# With --database it measures what the calls cost in the database instead: rows, bytes, log, disk waits and vacuum.
#
#   deploy/loadtest/replicas.sh [--rounds 5] [--calls 400] [--gateways 4] [--each]         GATEHOUSE_BINARY=…
#   deploy/loadtest/replicas.sh --database [--sessions 20000] [--refreshes 5000] [--gateways 2]
set -euo pipefail

# shellcheck source=deploy/loadtest/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_packages ca-certificates curl libcurl4-openssl-dev libnghttp2-dev libpq-dev libpq5 libsqlite3-dev libssl-dev pkg-config procps \
    python3 python3-venv util-linux zlib1g-dev
need_postgres
need_python "$repository/Tests/EndToEnd/requirements.txt"
need_gatehouse

machine
script=replicas_cost.py
if [[ ${1:-} == --database ]]; then
    script=replicas_database.py
    shift
fi
"$repository/.venv/bin/python" "$loadtest/$script" "$GATEHOUSE_BINARY" "$@"
