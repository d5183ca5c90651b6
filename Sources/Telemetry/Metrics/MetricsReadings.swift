internal import Pipeline

/// Values that are stored elsewhere and read when metrics are requested.
package struct MetricsReadings: Sendable {
    /// The state of an issuer's key set.
    package struct KeySet: Sendable {
        /// The issuer's name in the settings.
        package var issuer: String
        package var refreshes: Int
        package var failures: Int
        /// The seconds since the current set was fetched; nil if there is none.
        package var ageSeconds: Double?
        /// The number of keys for verification.
        package var keys: Int
        /// The seconds until the set is due to be fetched again, negative if that is overdue, and until it is no longer
        /// trusted; nil for a set that is not fetched, and if there is none.
        package var dueInSeconds: Int64?
        package var endsInSeconds: Int64?
        /// The error of the last fetch, and the time since which all fetches have failed, in seconds since 1970; nil
        /// after a success.
        package var error: String?
        package var failingSince: Int64?

        package init(
            issuer: String, refreshes: Int, failures: Int, ageSeconds: Double?, keys: Int = 0,
            dueInSeconds: Int64? = nil, endsInSeconds: Int64? = nil, error: String? = nil, failingSince: Int64? = nil
        ) {
            self.issuer = issuer
            self.refreshes = refreshes
            self.failures = failures
            self.ageSeconds = ageSeconds
            self.keys = keys
            self.dueInSeconds = dueInSeconds
            self.endsInSeconds = endsInSeconds
            self.error = error
            self.failingSince = failingSince
        }
    }

    /// The counts of reloads.
    package struct Reloads: Sendable {
        package var succeeded = 0
        package var failed = 0
        /// Whether the last reload failed.
        package var lastFailed = false
        /// The time since which the current settings are in use, in seconds since 1970.
        package var lastSuccess: Int64
        package var files = Files()

        package init(lastSuccess: Int64) { self.lastSuccess = lastSuccess }
    }

    /// The counts of changed files that the settings name, by groups of files that are replaced together.
    package struct Files: Sendable {
        package var used = 0
        package var refused = 0
        /// The number of groups that are rejected now.
        package var keptOut = 0
    }

    /// The revocation list.
    package struct Revocations: Sendable {
        package var entries: Int
        /// The maximum number of entries.
        package var limit: Int
        package var failures: Int
        /// The number of sessions with replaced tokens.
        package var superseded: Int
        /// The list's state if several gateways share it; nil if the state is not shared.
        package var shared: SharedList?

        package init(entries: Int, limit: Int, failures: Int, superseded: Int = 0, shared: SharedList? = nil) {
            self.entries = entries
            self.limit = limit
            self.failures = failures
            self.superseded = superseded
            self.shared = shared
        }
    }

    /// The revocation list that several gateways share.
    package struct SharedList: Sendable {
        /// The seconds since the list was last known to be complete.
        package var age: Int64
        /// Whether the list is so old that no token is accepted.
        package var isTooOld: Bool
        /// Whether the database announces changes.
        package var isNotified: Bool

        package init(age: Int64, isTooOld: Bool, isNotified: Bool) {
            self.age = age
            self.isTooOld = isTooOld
            self.isNotified = isNotified
        }
    }

    /// A database server.
    package struct Database: Sendable {
        package var open: Int
        package var idle: Int
        package var made: Int
        package var failed: Int
        /// The number of callers that wait for a connection.
        package var waiting: Int
        /// The upper limits of ``durations`` in seconds.
        package var limits: [Double]
        /// The numbers of statements by duration. The last number counts those above the last limit.
        package var durations: [Int]
        /// The total duration of all statements in seconds.
        package var total: Double
        package var errors: [(cause: String, count: Int)]

        package init(
            open: Int, idle: Int, made: Int, failed: Int, waiting: Int, limits: [Double], durations: [Int],
            total: Double, errors: [(cause: String, count: Int)]
        ) {
            self.open = open
            self.idle = idle
            self.made = made
            self.failed = failed
            self.waiting = waiting
            self.limits = limits
            self.durations = durations
            self.total = total
            self.errors = errors
        }
    }

    /// The counts of account calls, limits and messages to backends.
    package struct Accounts: Sendable {
        /// The account calls that were refused by a limit or a lock, by cause.
        package var refusals: [(cause: String, count: Int)]
        /// Account calls by operation and result.
        package var calls: [(key: AccountTally.Key, count: Int)]
        /// Steps of sign-ins by method and result.
        package var signIns: [SignInTally.Reading]
        /// The lengths of sessions.
        package var sessionLengths: [SessionLengths.Reading]
        /// Reads of users' attributes for backends, by result.
        package var userAttributes: [UserAttributeTally.Reading]
        /// The number of accounts that were locked after failed sign-ins.
        package var lockouts: Int
        package var outboxWaiting: Int
        package var outboxDelivered: Int
        package var outboxFailures: Int
        package var outboxLost: Int

        package init(
            refusals: [(cause: String, count: Int)], calls: [(key: AccountTally.Key, count: Int)] = [],
            signIns: [SignInTally.Reading] = [], sessionLengths: [SessionLengths.Reading] = [],
            userAttributes: [UserAttributeTally.Reading] = [], lockouts: Int = 0,
            outboxWaiting: Int, outboxDelivered: Int, outboxFailures: Int, outboxLost: Int
        ) {
            self.refusals = refusals
            self.calls = calls
            self.signIns = signIns
            self.sessionLengths = sessionLengths
            self.userAttributes = userAttributes
            self.lockouts = lockouts
            self.outboxWaiting = outboxWaiting
            self.outboxDelivered = outboxDelivered
            self.outboxFailures = outboxFailures
            self.outboxLost = outboxLost
        }
    }

    /// The expiry of a certificate that a listener presents.
    package struct Certificate: Sendable {
        /// The listener's address in the settings.
        package var listener: String
        /// The certificate's first DNS name.
        package var name: String
        /// Seconds since 1970.
        package var expiresAt: Int64

        package init(listener: String, name: String, expiresAt: Int64) {
            self.listener = listener
            self.name = name
            self.expiresAt = expiresAt
        }
    }

    /// The counts of name lookups by result.
    package struct NameLookups: Sendable {
        package var found: Int
        /// The resolver reported that there is no address.
        package var absent: Int
        /// The resolver failed.
        package var failed: Int

        package init(found: Int = 0, absent: Int = 0, failed: Int = 0) {
            self.found = found
            self.absent = absent
            self.failed = failed
        }
    }

    /// The certificates that are obtained by ACME.
    package struct ACME: Sendable {
        package var obtained: Int64
        package var failed: Int64
        /// The names, each with the number of failures since the last success, and the time of that success in seconds
        /// since 1970; 0 if there was none.
        package var names: [(name: String, failures: Int64, obtainedAt: Int64)]

        package init(obtained: Int64, failed: Int64, names: [(name: String, failures: Int64, obtainedAt: Int64)]) {
            self.obtained = obtained
            self.failed = failed
            self.names = names
        }
    }

    package var nameLookups: NameLookups
    package var keySets: [KeySet]
    package var certificates: [Certificate]
    /// Nil if no certificates are obtained by ACME.
    package var acme: ACME?
    /// Nil if no tokens are accepted.
    package var accountServices: Accounts?
    /// The apps that call Cognito directly, and the calls of all apps that have no entry.
    package var directApplications: (entries: [ApplicationTally.Entry], others: Int64)
    /// The same by app and operation, for a number of apps that is bounded over the process's lifetime.
    package var directCalls: [ApplicationTally.Calls]
    /// Nil if no tokens are accepted.
    package var revocations: Revocations?
    /// The seconds since the current assertion key began to sign; nil if there is none.
    package var assertionKeyAge: Double?
    /// The gateway's own keys that are followed, with the error of the last reading; nil if it succeeded.
    package var ownKeys: [(purpose: String, error: String?)]
    package var reloads: Reloads?
    /// The number of lines that were not written, for each log.
    package var linesLost: [(log: String, count: Int)]
    /// The counts of deliveries to a collector.
    package var exports: ExportTallies
    package var process: ProcessReadings?
    package var version: String
    /// Whether the store can be written; nil if there is no store.
    package var storeIsWritable: Bool?
    /// Nil if the store is not a database server.
    package var database: Database?
    /// The number of gateways that share the database, by state; empty if the state is not shared.
    package var replicas: [(state: String, count: Int)]
    /// The servers that an operator drains.
    package var drainedServers: [(upstream: String, server: String)]
    /// Whether `/readyz` reports ready.
    package var isReady: Bool
    /// Whether the gateway is stopping, or an operator drains it.
    package var isDraining: Bool

    package init(
        keySets: [KeySet] = [], certificates: [Certificate] = [], acme: ACME? = nil,
        revocations: Revocations? = nil,
        assertionKeyAge: Double? = nil, ownKeys: [(purpose: String, error: String?)] = [], reloads: Reloads? = nil,
        directApplications: (entries: [ApplicationTally.Entry], others: Int64) = ([], 0),
        directCalls: [ApplicationTally.Calls] = [],
        accountServices: Accounts? = nil, linesLost: [(log: String, count: Int)] = [],
        exports: ExportTallies = ExportTallies(), nameLookups: NameLookups = NameLookups(),
        process: ProcessReadings? = nil, version: String = "",
        storeIsWritable: Bool? = nil, database: Database? = nil, replicas: [(state: String, count: Int)] = [],
        drainedServers: [(upstream: String, server: String)] = [], isReady: Bool = true, isDraining: Bool = false
    ) {
        self.keySets = keySets
        self.certificates = certificates
        self.acme = acme
        self.accountServices = accountServices
        self.directApplications = directApplications
        self.directCalls = directCalls
        self.revocations = revocations
        self.assertionKeyAge = assertionKeyAge
        self.ownKeys = ownKeys
        self.reloads = reloads
        self.linesLost = linesLost
        self.exports = exports
        self.nameLookups = nameLookups
        self.process = process
        self.version = version
        self.storeIsWritable = storeIsWritable
        self.database = database
        self.replicas = replicas
        self.drainedServers = drainedServers
        self.isReady = isReady
        self.isDraining = isDraining
    }
}
