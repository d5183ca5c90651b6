/// What Config/gatehouse.yaml says of each key, by schema path. Made from it: see Tests/EndToEnd/test_schema.py.
enum KeyDescriptions {
    /// By schema path.
    static let all: [String: String] = {
        var (all, path) = ([String: String](), "")
        for line in text.split(separator: "\n") {
            if line.first == " " {
                all[path] = (all[path].map { $0 + " " } ?? "") + line.dropFirst(2)
            } else {
                path = String(line)
            }
        }
        return all
    }()

    private static let text = #"""
        account_limits
          What clients may do with accounts: through sign_in, and through direct_cognito where it translates.
          A rate is so many within a time, as 60/1m, or unlimited; beyond it there is 429 with Retry-After.
          What is counted outlasts a restart. Each is counted by address (of the client, of IPv6 by /64), by
          account (as it is named, whether there is such a user or not; a device from which the user has
          signed in, device_info.device_id, has as much for itself), and globally (all together, known devices
          on top).
        account_limits.account
          what a signed-in user does with the own account
        account_limits.codes
          confirmation, password reset
        account_limits.keys
          addresses, accounts and devices counted at the same time, about 300 bytes each
        account_limits.lockout
          of an account, whatever address it is tried from; or lockout: off
        account_limits.lockout.after
          failed sign-ins in a row, then nobody may try
        account_limits.lockout.first
          for so long; doubled with each further failure
        account_limits.lockout.forget_after
          since the last one
        account_limits.lockout.longest
          up to this
        account_limits.lockout.most
          after so many, until they are forgotten or the password was reset
        account_limits.messages
          registration, and what has a code sent
        account_limits.sign_in
          passwords and second factors
        admin
          Health, readiness, metrics and status (/healthz, /readyz, /metrics, /status), and changes while it
          runs (/reload, /drain, /log-level, /upstreams/…/drain), users and their sessions (/users,
          /sessions). Keep it where only you can reach it.
        admin.address
          a change takes a restart; in a browser it shows a dashboard
        admin.allow_public_without_token
          true: others than this machine may see metrics and status without one
        admin.token
          or file:…; at least 16 characters. All but /healthz and /readyz then asks for Authorization: Bearer,
          the dashboard in a form; without it nothing can be changed, nor users be seen, and on a loopback
          address only requests by address or for localhost are answered
        audit
          What happens to accounts, told by a line of JSON each. Users are in it by a hash that takes a key of
          the state directory.
        audit.log
          stdout, off, or a file's path, as under logging
        audit.webhook
          default: none. Each event is posted as well, at least once
        audit.webhook.allow_insecure_http
          true: also to an http URL
        audit.webhook.events
          default: all
        audit.webhook.secret
          or file:…; X-Gatehouse-Signature is then sha256= and the HMAC of the body
        audit.webhook.url
          required
        direct_cognito
          Calls that apps send to Cognito itself. `direct_cognito: block` says the same.
        direct_cognito.client_ids
          with translate: other app clients of the pool that released apps name, as the one from before there
          was a secret; served as sign_in.cognito.client_id
        direct_cognito.hosted_domains
          custom domains of the pools' hosted pages; Amazon's own are known
        direct_cognito.mode
          403 in Cognito's own shape; nothing is sent on. translate: what apps call for their own users is
          carried out with sign_in.cognito's client and secret
        drain_timeout
          How long requests in flight may take to end after SIGTERM, and on a listener that a reload takes
          out.
        identity
          How backends are told who calls: X-Auth-Subject and so on. A client's headers of that name never get
          through.
        identity.assertion
          default: none. A JWT of the gateway's own beside these headers (ES256, typ gatehouse-assertion+jwt),
          by which a backend knows what came through. Its keys are public at /.well-known/gatehouse/jwks.json
        identity.assertion.audiences
          its aud, by upstream; default: the upstream's name
        identity.assertion.header
          a client's own never gets through, in any spelling
        identity.assertion.issuer
          required; its iss: which gateway it is
        identity.assertion.lifetime
          10s to 10m; signed anew when half of it is over. None outlasts its token
        identity.assertion.publish_ahead
          at least so long a key is in the key set before it signs, 10m to 7d; after that it stays there for a
          day. Verifiers that keep the set for less lack no key
        identity.assertion.rotate_every
          the signing key's age at which the next one takes over; also by gatehouse keys rotate --purpose
          assertion
        identity.claims
          headers for more claims, at most 32; a client's own never get through, in any spelling
        issuers
          Whose tokens are accepted, by names of your choice. A token of one is never verified with another's
          keys.
        issuers.*.algorithms
          also RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA (Ed25519); a key without alg
          serves those of them that fit its type, one with it only its own
        issuers.*.allow_insecure_http
          true: the key set may be fetched over http, for development on one machine
        issuers.*.allow_private_addresses
          true: the key set's host may have a private, local or link-local address; default: as
          allow_insecure_http
        issuers.*.audiences
          required; the apps (or Services IDs) whose tokens are accepted
        issuers.*.client_ids
          required; the app clients whose tokens are accepted
        issuers.*.clock_skew
          how far the issuer's clock and this one may be apart
        issuers.*.discovery
          what <issuer>/.well-known/openid-configuration names; its issuer must be this one
        issuers.*.groups_claim
          a list of texts; [realm_access, roles] is a claim within another
        issuers.*.issuer
          default: follows from region and pool
        issuers.*.jwks_file
          a JSON Web Key Set, instead of jwks_url; read at start and at each reload
        issuers.*.jwks_url
          default: the issuer with /.well-known/jwks.json
        issuers.*.key_id
          with secret: the kid that tokens must have; default: they must have none
        issuers.*.own_keys
          this gateway's own sessions (sign_in.apple.session); or jwks_url or jwks_file with another gateway's
          keys, as at /.well-known/gatehouse/jwks.json
        issuers.*.profile
          cognito: an Amazon Cognito user pool; apple, oidc, gatehouse: see below
        issuers.*.region
          default: what the pool's id begins with
        issuers.*.required_claims
          that must be there, besides iss, sub, aud and exp
        issuers.*.secret
          HMAC, with the secret's bytes as they are, at least as many as the digest has
        issuers.*.token_use
          what its tokens are taken for: access, or id. ID tokens are taken only where a route's issuers name
          this one; name an API's audiences for access tokens, and apps' for ID tokens. For both: two entries,
          on different routes
        issuers.*.token_uses
          access, id
        issuers.*.types
          typ must be there and be one of these; default: none, JWT and, for access, at+jwt
        issuers.*.user_pool_id
          required
        key_sets
          How issuers' key sets are fetched.
        key_sets.maximum_lifetime
          and at most this long before it is fetched again; default: 1h, 24h for apple
        key_sets.minimum_lifetime
          a set is used at least this long, whatever its Cache-Control says
        key_sets.stale_limit
          how long the last good set serves while none can be fetched; then 503
        key_sets.unknown_key_interval
          an unknown key id causes at most one fetch per issuer in this time (while made-up ids use that one
          up, a new key is found so much later)
        limits
          What a client may take.
        limits.body_idle_timeout
          between two parts of a request's body
        limits.connections
          open at the same time; one more is told 503, or just closed where TLS is spoken
        limits.handshake_timeout
          for a PROXY header, and for a TLS handshake
        limits.header_bytes
          all header lines
        limits.header_line_bytes
          one header line
        limits.header_timeout
          for a request's head
        limits.http2
          of one connection
        limits.http2.continuation_frames
          in a row
        limits.http2.resets
          of streams within reset_window, by the client or brought about by it; more end the connection
        limits.http2.streams
          open at the same time
        limits.keep_alive_timeout
          until the next request of a connection
        limits.requests
          in flight at the same time, in the whole process; more get 503 at once
        limits.revocations
          revoked sign-ins, sessions and tokens held in memory, about 200 bytes each, until what they mean has
          expired; more are refused, which the log tells, but for an eighth more that mean a whole user: one
          who is deleted or locked out
        limits.token_bytes
          a bearer token
        listeners
          Where clients connect. At least one.
        listeners[].address
          host:port, [::1]:8080; 0.0.0.0:8080 for every interface, [::]:8080 with IPv4 among them; addresses
          that overlap: refused
        listeners[].http2
          beside HTTP/1.1; without TLS for clients that begin with it (h2c)
        listeners[].proxy_protocol
          default: what comes is the client's
        listeners[].proxy_protocol.trusted
          proxies whose every connection begins with a PROXY header, version 1 or 2, which says who the client
          is; from others there is none
        listeners[].tls
          default: plain text
        listeners[].tls.certificates
          at least one; chosen by the names in them, the first where none fits
        listeners[].tls.certificates[].certificate
          the server's certificate, then those that lead to its root. check, and the log at each start and
          reload, warn from 14 days before it expires
        listeners[].tls.client_ca
          clients must show a certificate signed by one of these
        listeners[].tls.minimum_version
          1.2, 1.3
        logging
          Three logs: the gateway's own, one line for each request (access log), and audit. Values of a query,
          tokens, passwords and codes are in none of them.
        logging.access_log
          a line for each request
        logging.access_log_file
          stdout, stderr, or a file's path
        logging.access_log_sampling
          of requests that succeed, one in so many has a line; those that fail all have
        logging.access_log_sampling[].path
          or a path, exactly
        logging.access_log_sampling[].route
          a route's name
        logging.file
          its own: stderr, stdout, or a file's path. Files are opened anew at SIGHUP, and within a second when
          something else has moved or deleted them
        logging.format
          json, text, or auto: text on a terminal, else JSON
        logging.level
          of its own: trace, debug, info, notice, warning, error, critical; debug tells each call of its own
          (to Cognito, for keys), failed health checks, reloads' steps
        routes
          What is forwarded. The most specific route wins; what no route names is 404. At least one.
        routes[].access
          public, optional (a token that is there must be valid), required
        routes[].add_prefix
          put before it; what the route decides on is the path as the client sent it
        routes[].body_limit
          a request's body, then 413; 0B: no limit
        routes[].cors.credentials
          true: with the browser's cookies
        routes[].cors.expose
          headers of the response that a page may read
        routes[].cors.headers
          that a page may set; this is the default
        routes[].cors.max_age
          how long a browser may keep the answer
        routes[].cors.methods
          default: the route's
        routes[].cors.origins
          required; exact, or ["*"] for every page
        routes[].forward_token
          true: the backend gets the Authorization header, or token_cookie, as well
        routes[].issuers
          default: all but those of ID tokens (apple, and oidc with token_use: id). Of several with the same
          issuer it must name one
        routes[].methods
          default: all
        routes[].name
          in logs and metrics; default: the path; not "none"
        routes[].path
          required; exact, * for one segment, /** for all below; {sub} for one segment that is the token's
          subject: "/users/{sub}/**" is for that user alone, else 403
        routes[].request_headers
          towards the backend; identity, forwarding and framing headers are not theirs
        routes[].request_headers.add
          set, whatever the client sent; a value may be file:/run/secrets/key
        routes[].require
          what a token must be besides; else 403. With access: optional it holds where there is a token, and
          who brings none may pass
        routes[].require.claims
          each of these must hold
        routes[].require.claims[].claim
          its name; [address, country] is a claim within another, from the outside in
        routes[].require.claims[].equals
          as text, byte for byte; a number or boolean as it is written in JSON. Where the token has a list,
          one element is enough
        routes[].require.claims[].in
          one of these, as with equals
        routes[].require.claims[].present
          anything but null
        routes[].require.email_verified
          only ID tokens say, unless a trigger adds it to access tokens
        routes[].require.groups
          of the user
        routes[].require.groups.any
          all and any as above
        routes[].require.max_age
          since the user last signed in (auth_time); then 401 that asks to sign in again
        routes[].require.scopes
          of an access token; ID tokens have none
        routes[].require.scopes.all
          every one of these
        routes[].require.scopes.any
          and one of those
        routes[].response_headers
          towards the client; what is added is also on this route's refusals; with cors no Access-Control-
          header, which are then the gateway's own
        routes[].strip_prefix
          taken off the path on the way to the backend; the route's path begins with it
        routes[].timeouts
          default: the upstream's
        routes[].timeouts.whole
          0s: no limit
        routes[].token_cookie
          a cookie that holds the token where there is no Authorization: Bearer. What is not GET, HEAD or
          OPTIONS, and a WebSocket, must then come from a page of the same origin, or of one under cors with
          credentials: true; else 403. Have no GET change anything. The backend does not see the cookie,
          unless forward_token
        routes[].token_uses
          access, id, session; default: what the issuers accept
        routes[].token_websocket_protocol
          new WebSocket(url, ["bearer", token, …]): the name before the token. The backend sees the other
          names; the answer is this one where it chooses none
        routes[].upstream
          required
        routes[].websocket
          default: false, and Upgrade is dropped. One that is open counts as a request in flight at its
          server. Or a section that says more:
        routes[].websocket.close_on_expiry
          when the token that opened it expires: Close 4401
        routes[].websocket.idle_timeout
          when nothing goes either way: Close 4408; no other time-out and no body_limit holds within a
          WebSocket
        sign_in
          Account endpoints that the gateway answers itself. Leave a family out to keep it off: its paths are
          then ordinary routes.
        sign_in.apple.cors.credentials
          true: with the browser's cookies
        sign_in.apple.cors.expose
          headers of the response that a page may read
        sign_in.apple.cors.headers
          that a page may set; this is the default
        sign_in.apple.cors.max_age
          how long a browser may keep the answer
        sign_in.apple.cors.methods
          default: the route's
        sign_in.apple.cors.origins
          required; exact, or ["*"] for every page
        sign_in.apple.issuer
          required; an issuer with profile: apple, whose audiences are the apps
        sign_in.apple.legacy_user_identifier
          a sign-in without identity_token: 422; forward: it goes to upstream unverified and without identity,
          for apps of old
        sign_in.apple.maximum_token_age
          of an identity token: Apple's are valid for a day
        sign_in.apple.mode
          the gateway keeps users and sessions; forward: a sign-in that was verified goes to upstream with
          identity headers, and the backend keeps them
        sign_in.apple.notifications
          Apple's messages that users have withdrawn their consent or are gone
        sign_in.apple.prefix
          sign-in is then POST /api/auth/apple
        sign_in.apple.role_conflict_message
          to who has signed in with an app of another role
        sign_in.apple.roles
          the role of each app's users, of every app or of none; default: none. Routes can require it as a
          group
        sign_in.apple.server
          default: none. Has authorization codes exchanged, and revokes at Apple who is deleted
        sign_in.apple.server.allow_insecure_http
          true: Apple may be called over http, for development on one machine
        sign_in.apple.server.key_id
          required
        sign_in.apple.server.private_key
          required; as Apple gives it
        sign_in.apple.server.team_id
          required
        sign_in.apple.server.timeout
          of one call
        sign_in.apple.server_nonce
          a nonce that POST apple/nonce has given out counts once: optional, required (no other does), off
          (none is given out)
        sign_in.apple.session
          required unless mode: forward
        sign_in.apple.session.absolute_lifetime
          so long after the sign-in a session ends, however it is used
        sign_in.apple.session.audience
          default: the first of that issuer's
        sign_in.apple.session.idle_lifetime
          so long after its last refresh; default: lifetime and refresh_within
        sign_in.apple.session.issuer
          required; an issuer with profile: gatehouse and own_keys: true
        sign_in.apple.session.lifetime
          of a token
        sign_in.apple.session.publish_ahead
          so long a key is in the key set before it signs, 10m to 7d
        sign_in.apple.session.refresh_within
          so long after its end it can still be refreshed, 7d at most
        sign_in.apple.session.rotate_every
          the signing key's age at which the next one takes over; also by gatehouse keys rotate --purpose
          session
        sign_in.apple.upstream
          required with forward, and only then
        sign_in.cognito.allow_insecure_http
          true: passwords may be sent over http, for development on one machine
        sign_in.cognito.client_id
          required; one of that issuer's client_ids
        sign_in.cognito.client_secret
          required; or file:/run/secrets/cognito
        sign_in.cognito.conceal_existing_users
          true: registering an address that has an account is answered as if it had none (201, and no message
          is sent) instead of 409
        sign_in.cognito.cors.credentials
          true: with the browser's cookies
        sign_in.cognito.cors.expose
          headers of the response that a page may read
        sign_in.cognito.cors.headers
          that a page may set; this is the default
        sign_in.cognito.cors.max_age
          how long a browser may keep the answer
        sign_in.cognito.cors.methods
          default: the route's
        sign_in.cognito.cors.origins
          required; exact, or ["*"] for every page
        sign_in.cognito.device_binding
          a refresh that sends device_info must come from the device of the sign-in, where that named one;
          required: it must send it
        sign_in.cognito.endpoint
          default: follows from the issuer's region
        sign_in.cognito.flow
          how a password is proven: password (USER_PASSWORD_AUTH), srp (USER_SRP_AUTH: Cognito never sees it),
          admin (ADMIN_USER_PASSWORD_AUTH: signed with the AWS credentials of the environment, the shared
          file, the container or the instance)
        sign_in.cognito.hosts
          whose requests are this pool's; default: those that no other pool names
        sign_in.cognito.include_id_token
          whether clients get the ID token as well
        sign_in.cognito.issuer
          required; one of the issuers above
        sign_in.cognito.prefix
          login is then POST /api/v1/auth/login
        sign_in.cognito.sealing_keys
          default: keys made once in state_directory (gatehouse keys rotate --purpose sealing); the first
          seals, all open
        sign_in.cognito.send_client_address
          true: Cognito's threat protection is told the client's address, which the app client must allow
          (EnablePropagateAdditionalUserContextData)
        sign_in.cognito.short_refresh_token_lifetime
          for remember_me: false
        sign_in.cognito.timeout
          of one call to Cognito
        sign_in.cognito.totp_issuer
          what authenticator apps show beside the account
        sign_in.more_pools
          further pools, with the same keys, told apart by prefix or by hosts
        sign_in.more_pools[].allow_insecure_http
          true: passwords may be sent over http, for development on one machine
        sign_in.more_pools[].client_id
          required; one of that issuer's client_ids
        sign_in.more_pools[].client_secret
          required; or file:/run/secrets/cognito
        sign_in.more_pools[].conceal_existing_users
          true: registering an address that has an account is answered as if it had none (201, and no message
          is sent) instead of 409
        sign_in.more_pools[].cors.credentials
          true: with the browser's cookies
        sign_in.more_pools[].cors.expose
          headers of the response that a page may read
        sign_in.more_pools[].cors.headers
          that a page may set; this is the default
        sign_in.more_pools[].cors.max_age
          how long a browser may keep the answer
        sign_in.more_pools[].cors.methods
          default: the route's
        sign_in.more_pools[].cors.origins
          required; exact, or ["*"] for every page
        sign_in.more_pools[].device_binding
          a refresh that sends device_info must come from the device of the sign-in, where that named one;
          required: it must send it
        sign_in.more_pools[].endpoint
          default: follows from the issuer's region
        sign_in.more_pools[].flow
          how a password is proven: password (USER_PASSWORD_AUTH), srp (USER_SRP_AUTH: Cognito never sees it),
          admin (ADMIN_USER_PASSWORD_AUTH: signed with the AWS credentials of the environment, the shared
          file, the container or the instance)
        sign_in.more_pools[].hosts
          whose requests are this pool's; default: those that no other pool names
        sign_in.more_pools[].include_id_token
          whether clients get the ID token as well
        sign_in.more_pools[].issuer
          required; one of the issuers above
        sign_in.more_pools[].prefix
          login is then POST /api/v1/auth/login
        sign_in.more_pools[].sealing_keys
          default: keys made once in state_directory (gatehouse keys rotate --purpose sealing); the first
          seals, all open
        sign_in.more_pools[].send_client_address
          true: Cognito's threat protection is told the client's address, which the app client must allow
          (EnablePropagateAdditionalUserContextData)
        sign_in.more_pools[].short_refresh_token_lifetime
          for remember_me: false
        sign_in.more_pools[].timeout
          of one call to Cognito
        sign_in.more_pools[].totp_issuer
          what authenticator apps show beside the account
        state_directory
          Where keys that are made once, sessions, revocations, and key sets that were fetched are kept. A
          change takes a restart.
        threads
          Event loops. 0: one for each core. A change takes a restart.
        tracing
          Spans of requests, and of what they wait for, by OTLP over HTTP (protobuf). Default: none are made,
          and a client's traceparent is passed on as it is.
        tracing.allow_insecure_http
          true: also an http URL
        tracing.attributes
          of the resource, besides service.name, and the process' own version and id, which these may replace
          (service.version, service.instance.id)
        tracing.endpoint
          required
        tracing.follow_client
          a client's trace is sent where the client samples it; false: by sampling too
        tracing.headers
          also file:…
        tracing.queue
          requests that may wait to be sent; those of more are lost, and counted
        tracing.sampling
          of the traces that begin here, the share that is sent, such as 0.05
        tracing.timeout
          of one delivery
        trusted_proxies
          addresses or networks, as [10.0.0.0/8]; none: whoever connects is the client
        upstreams
          The backends, by names of your choice. At least one.
        upstreams.*.balance
          round_robin, least_requests, hash_subject (a user's requests to one server)
        upstreams.*.ejection
          of a server that fails requests, by each event loop for itself
        upstreams.*.ejection.after
          failures in a row; 0: never
        upstreams.*.ejection.first
          for how long; doubled each further time
        upstreams.*.ejection.longest
          up to this
        upstreams.*.ejection.only_server
          true: eject also an upstream's only server: 503 at once while it fails
        upstreams.*.ejection.slow_return
          over which it gets its whole share again
        upstreams.*.ejection.statuses
          that count, beside failed connections and missing answers; a 500 can be one route's fault, or a
          client's doing
        upstreams.*.first_byte_timeout
          from the request's end to the response's first byte; then 504
        upstreams.*.health
          default: no checks
        upstreams.*.health.healthy_after
          good answers in a row that bring a server back
        upstreams.*.health.path
          required; 2xx and 3xx are good
        upstreams.*.health.unhealthy_after
          bad ones that take it out; with no server left: 503 with Retry-After at once
        upstreams.*.idle_timeout
          between two reads or writes of a body
        upstreams.*.keep_alive
          how long an unused connection is kept
        upstreams.*.maximum_age
          then a new one takes a connection's place; each new one resolves the name again
        upstreams.*.maximum_connections
          requests in flight, for each server and event loop; more wait
        upstreams.*.maximum_idle_connections
          unused connections kept, for each server and event loop
        upstreams.*.maximum_waiting
          so many, for each server and event loop; beyond that 503 at once
        upstreams.*.retries.budget
          retries for 100 requests at most, and ten at once; 0%: none. Only what can be repeated is: no body,
          idempotent method; or no connection was made
        upstreams.*.servers
          several servers instead of url
        upstreams.*.servers[].weight
          1 to 100: its part of the requests beside the others'
        upstreams.*.tls
          for servers with https URLs; certificates are always verified. Files are read at the start and when
          the configuration is, and what they held then is used
        upstreams.*.tls.ca
          trusted instead of the system's certificates
        upstreams.*.tls.certificate
          the gateway's own, with its chain
        upstreams.*.tls.pinned_key
          base64 of the SHA-256 of the server's public key
        upstreams.*.tls.server_name
          asked for (SNI) and verified instead of the URL's host
        upstreams.*.url
          required unless servers; http or https, host and port, no path; or unix:/run/api.sock
        upstreams.*.waiting_timeout
          so long; then 503
        upstreams.*.whole_timeout
          from the request's head to the response's end; 0s: no limit
        user_sync
          Tells a backend of users by POST, signed with the keys of identity.assertion. Default: none is told.
        user_sync.allow_insecure_http
          true: also to an http URL
        user_sync.audience
          the aud of the signature; default: the URL
        user_sync.events
          default: all
        user_sync.mode
          background: at least once, as soon as it can be; required: a sign-in waits for it, and is 503 where
          it was not received
        user_sync.url
          required; any 2xx says that it was received
        """#
}
