#!/usr/bin/env bash
# Builds each fuzz target (libFuzzer, address sanitizer) and runs it for a time, starting from its seeds, one on each
# core at a time.
# Ends with a line for each target, "passed NAME" or "failed NAME"; a finding fails.
#
#   Tests/Fuzz/run.sh [seconds] [target…]      default: 20 seconds, all targets
#
# Needs the release build's modules (deploy/build.sh). The code under test is compiled here, instrumented, with its targets
# as one module, and Encoding as a module of its own; other dependencies are linked as they were built.
# The targets of Tests/Fuzz/Listener play whole connections: there HTTP1, HTTP2 and Listener are compiled here,
# instrumented, as modules of their own, and all other modules are linked as they were built. They run without the
# address sanitizer, whose allocator would hide what a connection stores.
# New inputs of a run stay in .build/fuzz, and the next run starts from there; an input that fails is written to
# .build/fuzz/failed-*.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-20}
targets=("${@:2}")
# Those that are built together are apart: while one builds, the others of its group would wait.
[ ${#targets[@]} -gt 0 ] || targets=(ListenerHTTP1 KeySet RequestHead AppArchive Token ListenerHTTP2 Response
    AppPropertyList AccountBody RequestPath WebSocketFrame JSON HTTP2Session CBOR AppSource ClientHello)
built=.build/release
work=.build/fuzz
mkdir -p "$work"
# Nothing that an earlier run built counts, whatever its process was.
rm -f "$work"/*.built-by-*

# SwiftPM's name of the package where it compiles with package access: its directory.
package=$(basename "$PWD" | tr '[:upper:]' '[:lower:]' | tr -c '[:alnum:]\n' _)

rm -f "$work/dependencies.a"
{ find "$built"/{NIO*,_NIO*,CNIO*,Atomics,_AtomicsShims,HTTPTypes,DequeModule,*Collections*,ContainersPreview,BasicContainers,Cryptography,Zlib}.build \
    -name '*.o' -print0 2>/dev/null || true; } | xargs -0 ar rcs "$work/dependencies.a"
modulemaps=(-Xcc -I.build/checkouts/swift-nio-ssl/Sources/CNIOBoringSSL/include)
for map in .build/checkouts/swift-nio{,-ssl}/Sources/CNIO*/include/module.modulemap Sources/C*/module.modulemap \
    .build/checkouts/GRDB.swift/Sources/GRDBSQLite/module.modulemap \
    .build/checkouts/Yams/Sources/CYaml/include/module.modulemap Tests/Fuzz/Listener/Measure/module.modulemap \
    .build/checkouts/swift-atomics/Sources/_AtomicsShims/include/module.modulemap \
    "$built"/{CNIO*,CBoringSSL,_AtomicsShims}.build/module.modulemap; do
    [ -f "$map" ] && modulemaps+=(-Xcc "-fmodule-map-file=$map")
done

compile() {
    swiftc -static-stdlib -parse-as-library -O -swift-version 6 -package-name "$package" \
        -enable-upcoming-feature InternalImportsByDefault "${modulemaps[@]}" "$@"
}

# The targets that are compiled together, for they test the same code: one module with all of them, and a program of each.
declare -A group=([KeySet]=Verify [Token]=Verify [RequestHead]=HTTP1 [Response]=HTTP1 [AppArchive]=AppAudit
    [AppPropertyList]=AppAudit [AppSource]=AppAudit [ListenerHTTP1]=Listener [ListenerHTTP2]=Listener
    [AccountBody]=Listener)

# targets_of GROUP: their sources, a line each.
targets_of() {
    local target
    for target in "${!group[@]}"; do
        [ "${group[$target]}" != "$1" ] || echo "Tests/Fuzz/${target}Target.swift"
    done
    [ ! -f "Tests/Fuzz/$1Target.swift" ] || echo "Tests/Fuzz/$1Target.swift"
}

# once NAME COMMAND…: runs a command that several targets need, unless another target of this run has. One that fails runs
# again for the next target.
once() {
    local name=$1
    shift
    (
        flock 9
        [ ! -e "$work/$name.built-by-$$" ] || exit 0
        rm -f "$work/$name".built-by-*
        "$@" && touch "$work/$name.built-by-$$"
    ) 9>"$work/$name.lock"
}

# Links a target's program: libFuzzer calls the target's own function.
link_target() {
    local target=$1 sanitizers=$2
    shift 2
    swiftc -static-stdlib -sanitize="$sanitizers" -Xlinker "--defsym=LLVMFuzzerTestOneInput=fuzz$target" "$@" \
        -lcrypto -lnghttp2 -lz -o "$work/$target"
}

compile_pure() {
    local name=$1 sources targets
    local verify=(Sources/Pipeline/{Verify,Revocation}/*.swift
        Sources/Pipeline/Assertion/{Assertion,AssertionKey,IssuedAssertions,PublicJSONWebKey}.swift
        Sources/Pipeline/Identity/{HeaderName*,IdentityClaim,IdentityError,IdentityLines,TrustedHeader*}.swift
        Sources/Pipeline/Policy/{ClaimCondition,ClaimPath,RequirementNumbers,Requirements}.swift)
    case $name in
    RequestPath)
        sources=(Sources/Pipeline/Route/{OtherReadings,PathBytes,PathDecoding,PathFault,PathScan,RequestPath}.swift
            Sources/Pipeline/Respond/GatewayError.swift)
        ;;
    JSON) sources=() ;;
    ClientHello) sources=(Sources/Listener/Challenges/ClientHello.swift) ;;
    AppAudit) sources=(Sources/AppAudit/*/*.swift) ;;
    HTTP2Session) sources=(Sources/HTTP2/*.swift) ;;
    CBOR) sources=(Sources/LocalPool/WebAuthn/{CBOR,AuthenticatorData}.swift) ;;
    Verify) sources=("${verify[@]}" Tests/PipelineTests/AlgorithmTokens.swift) ;;
    WebSocketFrame) sources=(Sources/Pipeline/WebSocket/WebSocketFrameTracker.swift) ;;
    HTTP1) sources=(Sources/HTTP1/*.swift) ;;
    *) return 1 ;;
    esac
    mapfile -t targets < <(targets_of "$name")
    compile -wmo -sanitize=fuzzer,address -g -module-name "${name}Fuzz" -I "$work/pure" -I "$built/Modules" \
        -emit-object -o "$work/pure/$name.fuzz.o" "${sources[@]}" "${targets[@]}"
}

build_pure() {
    local target=$1 name=${group[$1]:-$1}
    once Encoding build_encoding && once "$name" compile_pure "$name" \
        && link_target "$target" fuzzer,address "$work/pure/$name.fuzz.o" "$work/pure/Encoding.o" "$work/dependencies.a"
}

# Compiles a module of the package, instrumented by these sanitizers, into a folder, with its internal declarations open to
# the targets.
build_module() {
    local name=$1 sanitizers=$2 folder=$3 sources
    mapfile -t sources < <(find "Sources/$name" -name '*.swift' | sort)
    compile -sanitize="$sanitizers" -wmo -enable-testing -enable-upcoming-feature MemberImportVisibility \
        -module-name "$name" -I "$folder" -I "$built/Modules" -emit-module \
        -emit-module-path "$folder/$name.swiftmodule" -emit-object -o "$folder/$name.o" "${sources[@]}"
}

build_encoding() {
    rm -rf "$work/pure" && mkdir "$work/pure" && build_module Encoding fuzzer,address "$work/pure"
}

build_listener() {
    local targets
    mapfile -t targets < <(targets_of Listener)
    rm -rf "$work/modules" && mkdir "$work/modules" && build_module HTTP1 fuzzer "$work/modules" \
        && build_module HTTP2 fuzzer "$work/modules" && build_module Listener fuzzer "$work/modules" \
        && "$(dirname "$(command -v swiftc)")/clang" -O2 -c Tests/Fuzz/Listener/Measure/measure.c \
            -o "$work/modules/Measure.o" \
        && compile -wmo -module-name ListenerFuzz -I "$work/modules" -I "$built/Modules" -emit-object \
            -o "$work/modules/targets.o" Tests/Fuzz/Listener/*.swift "${targets[@]}"
}

# Object files, and no archive of them: what is only looked up while running, such as a conformance, would be left out.
build_connection() {
    local target=$1
    once Listener build_listener || return 1
    grep -vE '/(HTTP1|HTTP2|Listener|gatehouse|Admin|Diagnostics|Gateway|LocalPool|Proxy|Sessions|Upstream)\.build/' \
        "$built/gatehouse.product/Objects.LinkFileList" >"$work/$target.objects"
    link_target "$target" fuzzer "$work"/modules/*.o "@$work/$target.objects" -Xlinker --gc-sections -lssl -lcurl -lsqlite3
}

# Limits of a process and of one input, so that a finding is a finding and not the machine's trouble.
declare -A longest=([KeySet]=2048 [Token]=1024 [AppArchive]=2048)
fuzz() {
    local target=$1 build=build_pure dictionary=Tests/Fuzz/dictionary
    case ${group[$target]:-} in
    Listener) build=build_connection dictionary=Tests/Fuzz/Listener/dictionary ;;
    AppAudit) dictionary=Tests/Fuzz/dictionary-app ;;
    esac
    if ! "$build" "$target" >"$work/$target.build.log" 2>&1; then
        grep -v '^/usr/bin/ld' "$work/$target.build.log" >"$work/$target.log"
        return 1
    fi
    mkdir -p "$work/corpus-$target"
    "$work/$target" -max_total_time="$seconds" -max_len="${longest[$target]:-600}" -timeout=30 -rss_limit_mb=2048 \
        -dict="$dictionary" -artifact_prefix="$work/failed-$target-" -verbosity=1 -print_final_stats=1 \
        "$work/corpus-$target" "Tests/Fuzz/seeds/$target" >"$work/$target.log" 2>&1
}

echo "$seconds seconds each"
declare -A running=() # process → the target that it fuzzes
status=0
finish_one() {
    local process outcome=0
    wait -n -p process "${!running[@]}" || outcome=$?
    local target=${running[$process]}
    unset "running[$process]"
    if [ "$outcome" = 0 ]; then
        echo "$target: $(grep -E 'number_of_executed_units|new_units_added' "$work/$target.log" | tr -s '\n ' ' ')"
        echo "passed $target"
    else
        tail -40 "$work/$target.log"
        echo "failed $target"
        status=1
    fi
}
for target in "${targets[@]}"; do
    [ ${#running[@]} -lt "$(nproc)" ] || finish_one
    fuzz "$target" &
    running[$!]=$target
done
while [ ${#running[@]} -gt 0 ]; do finish_one; done
exit "$status"
