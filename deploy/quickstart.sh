#!/usr/bin/env bash
# Builds Gatehouse, without optimisation, and shows it at work on this machine: LocalPool in Cognito's and Apple's place, an
# example FastAPI backend, the gateway between them; a login, a verified call, refused ones, a refresh, a sign-in with Apple.
# Everything listens on loopback only, and runs on until Ctrl-C.
#
#   deploy/quickstart.sh [--once]      --once: end after the demonstration
#
# Ports, if the usual ones are taken: GATEHOUSE_PORT (8080), GATEHOUSE_ADMIN_PORT (9901), GATEHOUSE_BACKEND_PORT (9000),
# GATEHOUSE_POOL_PORT (9229). GATEHOUSE_BINARY names a binary that is there, which is then not built; the sample app is taken
# from beside it or from .build/debug, and its step left out if it is in neither. GATEHOUSE_STATE names another directory
# than .quickstart.
# The exit status is 0 only if every step showed what it should.
set -euo pipefail

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/requirements.sh"
absolute GATEHOUSE_BINARY GATEHOUSE_STATE
cd "$repository"

once=
for argument in "$@"; do
    case $argument in
    --once) once=yes ;;
    *) fail "unknown option: $argument (there is --once)" ;;
    esac
done

export GATEHOUSE_PORT=${GATEHOUSE_PORT:-8080}
export GATEHOUSE_ADMIN_PORT=${GATEHOUSE_ADMIN_PORT:-9901}
export GATEHOUSE_BACKEND_PORT=${GATEHOUSE_BACKEND_PORT:-9000}
export GATEHOUSE_POOL_PORT=${GATEHOUSE_POOL_PORT:-9229}
export GATEHOUSE_STATE=${GATEHOUSE_STATE:-$repository/.quickstart}
gateway=http://127.0.0.1:$GATEHOUSE_PORT
email=ada@example.com
password=Correct-Horse-7-Battery
apple=http://127.0.0.1:$GATEHOUSE_POOL_PORT
apple_app=com.example.quickstart

bold='' green='' plain=''
[ -t 1 ] && bold=$'\033[1m' green=$'\033[32m' plain=$'\033[0m'
headline() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# ---- What is needed

for variable in GATEHOUSE_PORT GATEHOUSE_ADMIN_PORT GATEHOUSE_BACKEND_PORT GATEHOUSE_POOL_PORT; do
    if listening "${!variable}"; then
        fail "port ${!variable} is in use (by an earlier quickstart?). Set $variable to a free port and try again."
    fi
done

headline "Getting what is needed"
if [ -n "${GATEHOUSE_BINARY:-}" ]; then
    [ -x "$GATEHOUSE_BINARY" ] || fail "GATEHOUSE_BINARY is no program: $GATEHOUSE_BINARY"
    need_packages ca-certificates curl openssl python3 python3-venv
else
    need_packages ca-certificates curl libcurl4-openssl-dev libnghttp2-dev libpq-dev libsqlite3-dev libssl-dev openssl pkg-config python3 python3-venv zlib1g-dev
    need_swift
fi
mkdir -p "$GATEHOUSE_STATE"
chmod 700 "$GATEHOUSE_STATE"
# Beside the build.
need_python "$repository/deploy/example-backend/requirements.txt" >"$GATEHOUSE_STATE/python.log" 2>&1 &
python=$!

# build PRODUCT: into .build/debug
build() {
    : >"$GATEHOUSE_STATE/build.log"
    with_progress "$GATEHOUSE_STATE/build.log" swift build --product "$1" && return
    tail -40 "$GATEHOUSE_STATE/build.log" >&2
    fail "the build failed; all of its output is in $GATEHOUSE_STATE/build.log"
}

if [ -n "${GATEHOUSE_BINARY:-}" ]; then
    binary=$GATEHOUSE_BINARY
else
    binary=$repository/.build/debug/gatehouse
    echo "building without optimisation (the first time takes some minutes; all output is in ${GATEHOUSE_STATE#"$repository"/}/build.log)"
    build gatehouse
fi
wait "$python" || {
    tail -40 "$GATEHOUSE_STATE/python.log" >&2
    fail "no Python environment; all of the output is in $GATEHOUSE_STATE/python.log"
}

# ---- Starting, and stopping again

pids=()
# shellcheck disable=SC2329 # called by the traps
stop() {
    trap - EXIT
    trap '' INT TERM
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
}
trap 'status=$?; stop; exit $status' EXIT
trap 'echo; echo "stopping"; exit 0' INT TERM

# start NAME HEALTH-URL COMMAND…: runs the command with its output in $GATEHOUSE_STATE/NAME.log, and waits until it answers.
start() {
    local name=$1 url=$2 log=$GATEHOUSE_STATE/$1.log
    shift 2
    "$@" >"$log" 2>&1 </dev/null &
    pids+=($!)
    wait_for "$name" "$url" $! "$log"
    echo "  $name, checked at $url"
}

# The app client's secret is known to the pool and to the gateway, and to no app.
umask 077
[ -s "$GATEHOUSE_STATE/client-secret" ] \
    || python3 -c 'import secrets; print(secrets.token_hex(26), end="")' >"$GATEHOUSE_STATE/client-secret"
# As is the developer team's key, with which the gateway proves to Apple whose server it is.
[ -s "$GATEHOUSE_STATE/apple-key.p8" ] \
    || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$GATEHOUSE_STATE/apple-key.p8"
cat >"$GATEHOUSE_STATE/local-pool.yaml" <<YAML
listen:
  host: 127.0.0.1
  port: $GATEHOUSE_POOL_PORT
region: eu-central-1
pool_id: eu-central-1_Quickstart
client:
  id: quickstartclient0000000000
  secret: file:$GATEHOUSE_STATE/client-secret
database: $GATEHOUSE_STATE/local-pool.sqlite
users:
  - email: $email
    password: $password
    groups: [beta]
apple:
  team_id: QUICKSTART
  client_ids: [$apple_app]
  keys:
    - id: QUICKKEY00
      key: file:$GATEHOUSE_STATE/apple-key.p8
YAML

headline "Starting"
start local-pool "http://127.0.0.1:$GATEHOUSE_POOL_PORT/_local/health" \
    "$binary" local-pool --config "$GATEHOUSE_STATE/local-pool.yaml"
start example-backend "http://127.0.0.1:$GATEHOUSE_BACKEND_PORT/openapi.json" \
    .venv/bin/python -m uvicorn app:app --app-dir deploy/example-backend --host 127.0.0.1 --port "$GATEHOUSE_BACKEND_PORT"
start gateway "http://127.0.0.1:$GATEHOUSE_ADMIN_PORT/readyz" "$binary" serve --config Config/quickstart.yaml
echo "  the gateway listens on $gateway"

# ---- The demonstration

# call ARGUMENTS…: one request with curl; leaves its status and body in $status and $body.
call() {
    local answer
    answer=$(curl --noproxy '*' -s -m 20 -w '\n%{http_code}' "$@") || fail "no response from the gateway: curl $*"
    status=${answer##*$'\n'}
    body=${answer%$'\n'*}
}

# field NAME…: the value at this path of the JSON in $body, empty if it isn't there.
field() {
    python3 -c '
import json, sys
try:
    value = json.loads(sys.argv[1])
    for name in sys.argv[2:]:
        value = value[name]
    print(value)
except (ValueError, KeyError, TypeError):
    pass' "$body" "$@"
}

# shows WHAT ACTUAL WANTED: says what was seen, and ends the demonstration if it isn't what should be.
shows() {
    if [ "$2" = "$3" ]; then
        printf '   %sok%s  %s: %s\n' "$green" "$plain" "$1" "$2"
    else
        printf '%s\n' "$body" >&2
        fail "$1 should be '$3' and is '$2' (logs: $GATEHOUSE_STATE/*.log)"
    fi
}

abbreviated() { printf '%s…%s (%d characters)' "${1:0:12}" "${1: -6}" ${#1}; }

bearer() { printf 'Authorization: Bearer %s' "$1"; }

headline "1. A login: the app sends e-mail and password, and never sees the pool's client secret"
call "$gateway/api/v1/auth/login" -H 'Content-Type: application/json' \
    -d "{\"email\": \"$email\", \"password\": \"$password\"}"
shows "status" "$status" 200
token=$(field access_token)
refresh_token=$(field refresh_token)
subject=$(field user id)
echo "       access token   $(abbreviated "$token")"
echo "       refresh token  $(abbreviated "$refresh_token")"

headline "2. A verified call: the backend is told who calls, and gets no token"
call "$gateway/api/v1/whoami" -H "$(bearer "$token")"
shows "status" "$status" 200
shows "X-Auth-Subject at the backend" "$(field identity x-auth-subject)" "$subject"
shows "X-Auth-Groups at the backend" "$(field identity x-auth-groups)" beta

headline "3. Refused calls"
call "$gateway/api/v1/whoami"
shows "without a token" "$status $(field error)" "401 NotAuthorizedException"
signature=${token##*.}
middle=$((${#signature} / 2))
letter=A
[ "${signature:middle:1}" = A ] && letter=B
call "$gateway/api/v1/whoami" -H "$(bearer "${token%.*}.${signature:0:middle}$letter${signature:middle+1}")"
shows "with one letter of the signature changed" "$status $(field error)" "401 NotAuthorizedException"
call "$gateway/api/v1/auth/login" -H 'Content-Type: application/json' \
    -d "{\"email\": \"$email\", \"password\": \"a wrong one\"}"
shows "login with a wrong password" "$status $(field error)" "401 NotAuthorizedException"
call "$gateway/internal/metrics" -H "$(bearer "$token")"
shows "a path no route names" "$status $(field error)" "404 NotFoundException"

headline "4. A refresh: a new access token for the sealed refresh token"
call "$gateway/api/v1/auth/refresh" -H 'Content-Type: application/json' -d "{\"refresh_token\": \"$refresh_token\"}"
shows "status" "$status" 200
refreshed=$(field access_token)
echo "       access token   $(abbreviated "$refreshed")"
call "$gateway/api/v1/whoami" -H "$(bearer "$refreshed")"
shows "a call with it" "$status" 200

headline "5. A direct Cognito call: no way around the gateway's own sign-in"
call "$gateway/" -X POST -H 'X-Amz-Target: AWSCognitoIdentityProviderService.InitiateAuth' \
    -H 'Content-Type: application/x-amz-json-1.1' -d '{"AuthFlow": "USER_PASSWORD_AUTH"}'
shows "refused in Cognito's own shape" "$status $(field __type)" "403 ForbiddenException"
echo "       $(field message)"

headline "6. A spoofed identity: headers in the gateway's namespace never get through"
call "$gateway/public/hello" -H 'X-Auth-Subject: mallory' -H 'X_Auth_Subject: mallory'
shows "status on a public route" "$status" 200
shows "times that 'mallory' arrived" "$(grep -o mallory <<<"$body" | wc -l | tr -d ' ')" 0
call "$gateway/api/v1/whoami" -H 'X-Auth-Subject: mallory' -H "$(bearer "$refreshed")"
shows "the subject on a protected one" "$(field identity x-auth-subject)" "$subject"

headline "7. A sign-in with Apple: the app's identity token becomes a session of the gateway's own"
nonce=$(python3 -c 'import secrets; print(secrets.token_urlsafe(24), end="")')
digest=$(printf %s "$nonce" | sha256sum | cut -d ' ' -f 1)
# The phone's part: LocalPool has nobody look into a camera.
call "$apple/_local/apple/sign-in" -H 'Content-Type: application/json' \
    -d "{\"user\": \"$email\", \"client_id\": \"$apple_app\", \"nonce\": \"$digest\"}"
proof="{\"identity_token\": \"$(field identity_token)\", \"nonce\": \"$nonce\", \
\"authorization_code\": \"$(field authorization_code)\", \"name\": \"Ada Lovelace\"}"
call "$gateway/api/auth/apple" -H 'Content-Type: application/json' -d "$proof"
shows "status" "$status" 200
session=$(field token)
apple_subject=$(field user id)
echo "       session        $(abbreviated "$session")"
call "$gateway/api/auth/apple" -H 'Content-Type: application/json' -d "$proof"
shows "the same identity token once more" "$status $(field error)" "401 NotAuthorizedException"
call "$gateway/api/v1/whoami" -H "$(bearer "$session")"
shows "X-Auth-Subject at the backend" "$status $(field identity x-auth-subject)" "200 $apple_subject"
shows "X-Auth-Groups at the backend" "$(field identity x-auth-groups)" customer
call "$gateway/api/auth/refresh" -X POST -H "$(bearer "$session")"
shows "a refresh" "$status" 200
session=$(field token)
call "$gateway/api/auth/logout" -X POST -H "$(bearer "$session")"
shows "signing out" "$status" 204
call "$gateway/api/v1/whoami" -H "$(bearer "$session")"
shows "the next call" "$status $(field error)" "401 NotAuthorizedException"

headline "8. An app: the Swift client signs in, calls, refreshes by itself, and stays signed in over a restart"
# run_app [--refresh]: one run of the app; its output in $body.
run_app() {
    body=$(EMAIL=$email PASSWORD=$password "$client" "$gateway" "$GATEHOUSE_STATE/client-session.json" api/v1/whoami "$@") \
        || fail "client-sample: $body"
}
client=$(dirname "$binary")/client-sample
if [ -z "${GATEHOUSE_BINARY:-}" ]; then
    build client-sample
elif [ ! -x "$client" ]; then
    client=$repository/.build/debug/client-sample
fi
if [ -x "$client" ]; then
    rm -f "$GATEHOUSE_STATE/client-session.json"
    run_app
    shows "the first run" "$(head -1 <<<"$body")" "signed in as $email"
    stored=$(sha256sum <"$GATEHOUSE_STATE/client-session.json")
    run_app --refresh
    shows "a restart" "$(head -1 <<<"$body")" "still signed in as $email"
    shows "its call" "$(sed -nE '2s/^([0-9]+) .*/\1/p' <<<"$body")" 200
    renewed=yes
    [ "$(sha256sum <"$GATEHOUSE_STATE/client-session.json")" != "$stored" ] || renewed=no
    shows "new tokens in its store" "$renewed" yes
else
    echo "   left out: there is no $client"
fi

if [ -n "$once" ]; then
    headline "Every step showed what it should."
    exit 0
fi

headline "Every step showed what it should. Try it yourself, in another terminal:"
cat <<TEXT

  TOKEN=\$(curl -s $gateway/api/v1/auth/login -H 'Content-Type: application/json' \\
      -d '{"email": "$email", "password": "$password"}' \\
      | python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')

  curl -i $gateway/api/v1/whoami -H "Authorization: Bearer \$TOKEN"
  curl -i $gateway/api/v1/auth/me -H "Authorization: Bearer \$TOKEN"
  curl -N "$gateway/api/v1/events?n=5&interval=1" -H "Authorization: Bearer \$TOKEN"
  curl -i $gateway/api/v1/whoami
  curl -i $gateway/ -X POST -H 'X-Amz-Target: AWSCognitoIdentityProviderService.SignUp' -d '{}'
  curl -s http://127.0.0.1:$GATEHOUSE_ADMIN_PORT/metrics
  tail -f $GATEHOUSE_STATE/gateway.log

Press Ctrl-C to stop everything.
TEXT
# Until Ctrl-C, or until one of the three ends by itself.
wait -n "${pids[@]}" || true
fail "one of the processes has ended by itself (logs: $GATEHOUSE_STATE/*.log)"
