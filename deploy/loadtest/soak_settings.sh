# Sourced by soak.sh: the settings of the gateway under test and of the local pool, which is its Cognito and its Apple.
# shellcheck shell=bash
# shellcheck disable=SC2154 # work, issuer, client, port, tls_port and the ports are those of who sources this

# Steps of the clock are at most forty days, and nothing that lives longer may be refused for them.
hundred_days=8640000

# conf_pool: with so many users that each session has one of its own, and a team's key for Apple.
conf_pool() {
    local number
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/apple.p8" 2>/dev/null ||
        fail "openssl made no key"
    {
        cat <<YAML
listen: {host: 127.0.0.1, port: $pool_port}
region: eu-central-1
pool_id: eu-central-1_Soak
client: {id: soakclient000000000000, secret: $pool_secret}
database: $work/pool.sqlite
lifetimes: {access_token: $hundred_days, id_token: $hundred_days, refresh_token: $hundred_days}
lockout: false
apple:
  team_id: SOAKTEAM00
  client_ids: [com.example.app]
  keys: [{id: SOAKKEY000, key: "file:$work/apple.p8"}]
users:
YAML
        for ((number = 0; number < $1 + 3; number++)); do
            echo "  - {email: user-$number@example.com, password: Correct-Horse-7-Battery}"
        done
    } >"$work/pool.yaml"
}

# conf_soak THREADS: two backends that are restarted, and one that is known by its name and is not; issuers whose key sets
# are fetched every two seconds. Each line that begins with routes or limits is one that `reload` changes.
conf_soak() {
    local pool_url=http://127.0.0.1:$pool_port
    local soak_pool=$pool_url/eu-central-1_Soak
    local certificate="{certificate: $work/tls/certificate.pem, key: $work/tls/key.pem}"
    cat >"$work/gatehouse.yaml" <<YAML
listeners:
  - {address: "127.0.0.1:${port[gatehouse]}"}
  - {address: "127.0.0.1:${tls_port[gatehouse]}", tls: {certificates: [$certificate]}}
threads: $1
admin: {address: "127.0.0.1:$admin_port"}
state_directory: $work/state-gatehouse
# All load comes from one address.
limits: {connections_per_address: 10000, requests_per_address: 10000}
account_limits:
  sign_in: {address: unlimited, account: unlimited}
  refresh: {address: unlimited}
  account: {address: unlimited}
upstreams:
  backend: {url: "http://127.0.0.1:$backend_port"}
  other: {url: "http://127.0.0.1:$other_port"}
  steady: {url: "http://127.0.0.1:$steady_port"}
  # New connections all the time, so that the name is looked up all the time.
  named: {url: "http://$steady_name:$steady_port", maximum_age: 1s, connect_timeout: 1s}
  unknown: {url: "http://unknown.test:$steady_port", connect_timeout: 1s}
key_sets: {minimum_lifetime: 2s, maximum_lifetime: 2s, timeout: 1s}
issuers:
$(cognito_issuer cognito Loadtest "$client" "$issuer" "http://127.0.0.1:$keys_port/jwks.json")
$(cognito_issuer partner Partner "$client" "$issuer-partner" "http://127.0.0.1:$partner_keys_port/jwks.json")
$(cognito_issuer pool Soak soakclient000000000000 "$soak_pool" "$soak_pool/.well-known/jwks.json")
  apple:
    profile: apple
    audiences: [com.example.app]
    jwks_url: $pool_url/auth/keys
    allow_insecure_http: true
  fill: {profile: oidc, issuer: "https://fill.example", audiences: [api], secret: $fill_secret, algorithms: [HS256]}
  sessions: {profile: gatehouse, issuer: "https://gateway.example", audiences: [api], own_keys: true}
sign_in:
  cognito:
    issuer: pool
    client_id: soakclient000000000000
    client_secret: $pool_secret
    endpoint: $pool_url
    allow_insecure_http: true
    refresh_token_lifetime: 100d
  apple:
    issuer: apple
    roles: {com.example.app: customer}
    session: {issuer: sessions, lifetime: 100d}
    server:
      team_id: SOAKTEAM00
      key_id: SOAKKEY000
      private_key: file:$work/apple.p8
      endpoint: $pool_url
      allow_insecure_http: true
identity: {assertion: {issuer: "https://gateway.example"}}
audit:
  log: "off"
  webhook: {url: "http://127.0.0.1:$audit_port/events", allow_insecure_http: true, timeout: 2s}
user_sync: {url: "http://127.0.0.1:$users_port/users", allow_insecure_http: true, timeout: 2s}
routes: [
  {name: api, path: "/api/**", access: required, issuers: [cognito], upstream: backend},
  {name: other, path: "/other/**", access: required, issuers: [partner], upstream: other},
  {name: named, path: "/named/**", access: required, issuers: [cognito], upstream: named},
  {name: fill, path: "/fill", access: required, issuers: [fill], upstream: steady},
  {name: unknown, path: "/unknown", access: public, upstream: unknown},
  {name: session, path: "/session/**", access: required, issuers: [pool, sessions], upstream: steady}]
logging: {access_log: false}
YAML
    "$GATEHOUSE_BINARY" check --config "$work/gatehouse.yaml" >"$work/check" 2>&1 || {
        cat "$work/check" >&2
        fail "gatehouse refuses its settings"
    }
}
