#!/usr/bin/env bash
# Builds each fuzz target (libFuzzer, address sanitizer) and runs it for a time, starting from its seeds, one on each
# core at a time.
# Ends with a line for each target, "passed NAME" or "failed NAME"; a finding fails.
#
#   Tests/Fuzz/run.sh [seconds] [target…]      default: 20 seconds, all targets
#
# Needs the release build's modules (deploy/build.sh). The code under test is compiled here, instrumented, with the target
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
[ ${#targets[@]} -gt 0 ] || targets=(RequestHead Response RequestPath WebSocketFrame JSON KeySet Token
    HTTP2Session ListenerHTTP1 ListenerHTTP2 AccountBody CBOR AppArchive AppPropertyList AppSource ClientHello)
built=.build/release
work=.build/fuzz
mkdir -p "$work"

# SwiftPM's name of the package where it compiles with package access: its directory.
package=$(basename "$PWD" | tr '[:upper:]' '[:lower:]' | tr -c '[:alnum:]\n' _)

rm -f "$work/dependencies.a"
{ find "$built"/{NIO*,_NIO*,CNIO*,Atomics,_AtomicsShims,HTTPTypes,DequeModule,*Collections*,ContainersPreview,BasicContainers,Cryptography,Zlib}.build \
    -name '*.o' -print0 2>/dev/null || true; } | xargs -0 ar rcs "$work/dependencies.a"
modulemaps=()
for map in .build/checkouts/swift-nio/Sources/CNIO*/include/module.modulemap Sources/C*/module.modulemap \
    .build/checkouts/GRDB.swift/Sources/GRDBSQLite/module.modulemap \
    .build/checkouts/Yams/Sources/CYaml/include/module.modulemap Tests/Fuzz/Listener/Measure/module.modulemap \
    .build/checkouts/swift-atomics/Sources/_AtomicsShims/include/module.modulemap \
    "$built"/{CNIO*,_AtomicsShims}.build/module.modulemap; do
    [ -f "$map" ] && modulemaps+=(-Xcc "-fmodule-map-file=$map")
done

compile() {
    swiftc -static-stdlib -parse-as-library -O -swift-version 6 -package-name "$package" \
        -enable-upcoming-feature InternalImportsByDefault "${modulemaps[@]}" "$@"
}

build_pure() {
    local target=$1 sources module=${1}Fuzz
    local verify=(Sources/Pipeline/{Verify,Revocation}/*.swift
        Sources/Pipeline/Assertion/{Assertion,AssertionKey,IssuedAssertions,PublicJSONWebKey}.swift
        Sources/Pipeline/Identity/{HeaderName*,IdentityClaim,IdentityError,IdentityLines,TrustedHeader*}.swift
        Sources/Pipeline/Policy/{ClaimCondition,ClaimPath,RequirementNumbers,Requirements}.swift)
    case $target in
    RequestPath)
        sources=(Sources/Pipeline/Route/{OtherReadings,PathBytes,PathDecoding,PathFault,PathScan,RequestPath}.swift
            Sources/Pipeline/Respond/GatewayError.swift)
        ;;
    JSON) sources=() ;;
    ClientHello) sources=(Sources/Listener/Challenges/ClientHello.swift) ;;
    App*) sources=(Sources/AppAudit/*/*.swift) ;;
    HTTP2Session) sources=(Sources/HTTP2/*.swift) ;;
    CBOR) sources=(Sources/LocalPool/WebAuthn/{CBOR,AuthenticatorData}.swift) ;;
    KeySet) sources=("${verify[@]}") ;;
    Token)
        sources=("${verify[@]}" Tests/PipelineTests/AlgorithmTokens.swift)
        ;;
    WebSocketFrame) sources=(Sources/Pipeline/WebSocket/WebSocketFrameTracker.swift) ;;
    *) sources=(Sources/HTTP1/*.swift) ;;
    esac
    build_encoding || return 1
    compile -sanitize=fuzzer,address -g -module-name "$module" -I "$work/pure" -I "$built/Modules" "${sources[@]}" \
        "Tests/Fuzz/${target}Target.swift" "$work/pure/Encoding.o" "$work/dependencies.a" -lcrypto -lnghttp2 -lz -o "$work/$target"
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

# The first target that needs them builds the modules that several are linked with.
build_encoding() {
    (
        flock 9
        [ ! -e "$work/pure/built-by-$$" ] || exit 0
        rm -rf "$work/pure" && mkdir "$work/pure" && build_module Encoding fuzzer,address "$work/pure" \
            && touch "$work/pure/built-by-$$"
    ) 9>"$work/pure.lock"
}

build_listener() {
    (
        flock 9
        [ ! -e "$work/modules/built-by-$$" ] || exit 0
        rm -rf "$work/modules" && mkdir "$work/modules" && build_module HTTP1 fuzzer "$work/modules" \
            && build_module HTTP2 fuzzer "$work/modules" && build_module Listener fuzzer "$work/modules" \
            && "$(dirname "$(command -v swiftc)")/clang" -O2 -c Tests/Fuzz/Listener/Measure/measure.c \
                -o "$work/modules/Measure.o" \
            && touch "$work/modules/built-by-$$"
    ) 9>"$work/modules.lock"
}

# Object files, and no archive of them: what is only looked up while running, such as a conformance, would be left out.
build_connection() {
    local target=$1
    build_listener || return 1
    grep -vE '/(HTTP1|HTTP2|Listener|gatehouse|Admin|Diagnostics|Gateway|LocalPool|Proxy|Sessions|Upstream)\.build/' \
        "$built/gatehouse.product/Objects.LinkFileList" >"$work/$target.objects"
    compile -wmo -module-name "${target}Fuzz" -I "$work/modules" -I "$built/Modules" -emit-object \
        -o "$work/$target.o" Tests/Fuzz/Listener/*.swift "Tests/Fuzz/${target}Target.swift" || return 1
    swiftc -static-stdlib -sanitize=fuzzer "$work/$target.o" "$work"/modules/*.o "@$work/$target.objects" \
        -Xlinker --gc-sections -lcrypto -lssl -lcurl -lnghttp2 -lsqlite3 -lz -o "$work/$target"
}

# Limits of a process and of one input, so that a finding is a finding and not the machine's trouble.
declare -A longest=([KeySet]=2048 [Token]=1024 [AppArchive]=2048)
is_connection() { [[ $1 == Listener* || $1 == AccountBody ]]; }
fuzz() {
    local target=$1 build=build_pure dictionary=Tests/Fuzz/dictionary
    if is_connection "$target"; then build=build_connection dictionary=Tests/Fuzz/Listener/dictionary; fi
    if [[ $target == App* ]]; then dictionary=Tests/Fuzz/dictionary-app; fi
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
declare -A running=() # target → the process that fuzzes it
status=0
finish() {
    local target=$1
    if wait "${running[$target]}"; then
        echo "$target: $(grep -E 'number_of_executed_units|new_units_added' "$work/$target.log" | tr -s '\n ' ' ')"
        echo "passed $target"
    else
        tail -40 "$work/$target.log"
        echo "failed $target"
        status=1
    fi
    unset "running[$target]"
}
waiting=("${targets[@]}")
while [ ${#waiting[@]} -gt 0 ]; do
    group=("${waiting[@]:0:$(nproc)}")
    waiting=("${waiting[@]:${#group[@]}}")
    for target in "${group[@]}"; do
        fuzz "$target" &
        running[$target]=$!
    done
    for target in "${group[@]}"; do finish "$target"; done
done
exit "$status"
