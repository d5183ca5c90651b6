#!/usr/bin/env bash
# Makes deploy/release/gatehouse.profdata anew, the profile by which deploy/build.sh optimizes: builds the gateway with
# counters, has it do what gateways do most, and merges the counts. It takes about a quarter of an hour.
#
#   deploy/release/profile.sh
#
# Builds with an older profile are right, and only slower: functions that have changed since are compiled without one. So
# make it anew when a measurement (deploy/loadtest) asks for it, and for a new Swift toolchain.
set -euo pipefail

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/../requirements.sh"
cd "$repository"
need_swift
need_python Tests/EndToEnd/requirements.txt

toolchain=$(dirname "$(dirname "$(realpath "$(command -v swiftc)")")")
runtime=$(find "$toolchain/lib/clang" -name "libclang_rt.profile-$(uname -m).a" | head -1)
[ -n "$runtime" ] || fail "the Swift toolchain has no library for profiles"
# SwiftPM does not compile anew for the frontend's options: a directory of its own, which ends with this script.
scratch=$repository/.build-profile
trap 'rm -rf "$scratch"' EXIT
rm -rf "$scratch"
swift build --scratch-path "$scratch" -c release --static-swift-stdlib -debug-info-format none --product gatehouse \
    -Xswiftc -Xfrontend -Xswiftc -ir-profile-generate -Xlinker -u__llvm_profile_runtime -Xlinker "$runtime" \
    -Xlinker --no-gc-sections

export LLVM_PROFILE_FILE=$scratch/counts/%p.profraw GATEHOUSE_BINARY=$scratch/release/gatehouse
cases=hot-token,many-tokens,new-tokens,body-10k,upload-64k,tls-http1,tls-http2,tls-http2-upload-64k,tls-http2-phones
cases+=,connections,connections-tls,connections-tls-resumed,telemetry
ROUNDS=1 SECONDS_EACH=3 deploy/loadtest/compare.sh --cases "$cases"
# Otherwise sign-ins would count as what never happens.
.venv/bin/python deploy/loadtest/sign_in_cost.py "$GATEHOUSE_BINARY" --rounds 2 --calls 120 --at-once 8
"$toolchain/bin/llvm-profdata" merge --sparse -o deploy/release/gatehouse.profdata "$scratch"/counts/*.profraw
ls -l deploy/release/gatehouse.profdata
