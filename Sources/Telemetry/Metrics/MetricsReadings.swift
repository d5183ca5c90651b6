internal import Pipeline

/// Numbers that are kept elsewhere and read when metrics are asked for.
package struct MetricsReadings: Sendable {
    /// The state of an issuer's key set.
    package struct KeySet: Sendable {
        /// The issuer's name in the settings.
        package var issuer: String
        package var refreshes: Int
        package var failures: Int
        /// Seconds since the set in use was fetched; nil while there is none.
        package var ageSeconds: Double?
        /// How many keys there are to verify with.
        package var keys: Int
        /// Seconds until the set is to be fetched again, negative when that should have been done, and until it is
        /// trusted no more; nil for one that is not fetched, and while there is none.
        package var dueInSeconds: Int64?
        package var endsInSeconds: Int64?
        /// Why the last fetch failed, and since when all have, in seconds since 1970; nil after a good one.
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

    /// How the settings were read again.
    package struct Reloads: Sendable {
        package var succeeded = 0
        package var failed = 0
        /// Whether the last one did not take over.
        package var lastFailed = false
        /// Seconds since 1970 when the settings in use took over.
        package var lastSuccess: Int64
        package var files = Files()

        package init(lastSuccess: Int64) { self.lastSuccess = lastSuccess }
    }

    /// Changes of files that the settings name, by groups of files that are replaced together.
    package struct Files: Sendable {
        package var used = 0
        package var refused = 0
        /// Groups that are refused now.
        package var keptOut = 0
    }

    /// The revocation list.
    package struct Revocations: Sendable {
        package var entries: Int
        /// How many are held at most.
        package var limit: Int
        package var failures: Int
        /// Sessions with tokens that were replaced.
        package var superseded: Int
        /// The list as one of several gateways has it; nil where there is one process.
        package var shared: SharedList?

        package init(entries: Int, limit: Int, failures: Int, superseded: Int = 0, shared: SharedList? = nil) {
            self.entries = entries
            self.limit = limit
            self.failures = failures
            self.superseded = superseded
            self.shared = shared
        }
    }

    /// The list of revocations that several gateways share.
    package struct SharedList: Sendable {
        /// Seconds since it was last known to be complete.
        package var age: Int64
        /// Whether it is so old that no token is accepted.
        package var isTooOld: Bool
        /// Whether the database announces changes.
        package var isNotified: Bool

        package init(age: Int64, isTooOld: Bool, isNotified: Bool) {
            self.age = age
            self.isTooOld = isTooOld
            self.isNotified = isNotified
        }
    }

    /// A database that is a server.
    package struct Database: Sendable {
        package var open: Int
        package var idle: Int
        package var made: Int
        package var failed: Int
        /// Callers that wait for a connection.
        package var waiting: Int
        /// The upper limits of ``durations`` in seconds.
        package var limits: [Double]
        /// Statements by how long they took; the last number is of those above the last limit.
        package var durations: [Int]
        /// Seconds of all statements.
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

    /// Limits, audit and messages to backends.
    package struct Accounts: Sendable {
        /// Account calls that were not let through, by cause.
        package var refusals: [(cause: String, count: Int)]
        /// Account calls by operation and result.
        package var calls: [(key: AccountTally.Key, count: Int)]
        /// Steps of sign-ins by method and result.
        package var signIns: [SignInTally.Reading]
        /// How long sessions lasted.
        package var sessionLengths: [SessionLengths.Reading]
        /// Reads of users' attributes for backends, by result.
        package var userAttributes: [UserAttributeTally.Reading]
        /// Accounts that failed sign-ins have locked.
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

    /// When a certificate that a listener shows ends.
    package struct Certificate: Sendable {
        /// The listener's address in the settings.
        package var listener: String
        /// The first name that it is for.
        package var name: String
        /// Seconds since 1970.
        package var expiresAt: Int64

        package init(listener: String, name: String, expiresAt: Int64) {
            self.listener = listener
            self.name = name
            self.expiresAt = expiresAt
        }
    }

    /// Counts of name look-ups by their outcome.
    package struct NameLookups: Sendable {
        package var found: Int
        /// The resolver was sure that there is no address.
        package var absent: Int
        /// The resolver could not say.
        package var failed: Int

        package init(found: Int = 0, absent: Int = 0, failed: Int = 0) {
            self.found = found
            self.absent = absent
            self.failed = failed
        }
    }

    /// Certificates that are obtained from a directory.
    package struct ACME: Sendable {
        package var obtained: Int64
        package var failed: Int64
        /// The names, each with the failures since the last success, and its time in seconds since 1970, or 0.
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
    /// Nil where none are obtained.
    package var acme: ACME?
    /// Nil where no tokens are taken.
    package var accountServices: Accounts?
    /// Apps that call Cognito itself, and the calls of those that are not kept apart.
    package var directApplications: (entries: [ApplicationTally.Entry], others: Int64)
    /// The same by app and operation, with a bounded number of apps for ever.
    package var directCalls: [ApplicationTally.Calls]
    /// Nil where no tokens are taken.
    package var revocations: Revocations?
    /// Seconds since the key of assertions began to sign; nil where there are none.
    package var assertionKeyAge: Double?
    /// The gateway's own keys that are followed, with the error of the last reading.
    package var ownKeys: [(purpose: String, error: String?)]
    package var reloads: Reloads?
    /// Lines that were not written, by log.
    package var linesLost: [(log: String, count: Int)]
    /// Counts of deliveries to a collector.
    package var exports: ExportTallies
    package var process: ProcessReadings?
    package var version: String
    /// Whether what must be kept can be; nil where nothing is.
    package var storeIsWritable: Bool?
    /// Nil where it is no server.
    package var database: Database?
    /// Gateways that share the database, by state; empty where there is one process.
    package var replicas: [(state: String, count: Int)]
    /// The servers that an operator drains.
    package var drainedServers: [(upstream: String, server: String)]
    /// Whether `/readyz` says yes.
    package var isReady: Bool
    /// Whether the gateway stops, or an operator drains it.
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
