package import Cryptography
internal import Encoding

/// A certificate that was obtained, with its key.
package struct ObtainedCertificate: Sendable, Equatable {
    /// The host name that it is for, in lower case.
    package let name: String
    /// The URL of the directory that it is from.
    package let directory: String
    /// PEM: the certificate first, then those that lead to its root.
    package let chain: [UInt8]
    package let key: Secret
    /// Seconds since 1970.
    package let obtainedAt: Int64

    package init(name: String, directory: String, chain: [UInt8], key: Secret, obtainedAt: Int64) {
        self.name = name
        self.directory = directory
        self.chain = chain
        self.key = key
        self.obtainedAt = obtainedAt
    }

    /// The end of the chain's certificate that ends first, in seconds since 1970; long ago for one that cannot be read.
    var expiresAt: Int64 { read?.notAfter ?? .min }

    func isValid(at time: Int64) -> Bool { read.map { $0.notBefore <= time && $0.notAfter > time } ?? false }

    private var read: ServerCertificate? { ServerCertificate(chain: chain, for: name) }
}

/// All that is kept for ACME, of one directory: the account, the certificates, and what is under way. One value, which
/// is replaced as a whole.
package struct ACMEState: Sendable, Equatable {
    struct Account: Sendable, Equatable {
        var directory: String
        var key: Secret
        /// Nil before the directory has made it.
        var url: String?
        var contacts: [String]
    }

    /// The attempts at a name's certificate that have failed since the last success.
    struct Failure: Sendable, Equatable {
        var name: String
        /// 0 for a name that only waits because another one's order failed.
        var count: Int64
        /// When the next attempt may be made; seconds since 1970.
        var nextAt: Int64
        /// When the last attempt was made; 0 for none.
        var lastAt: Int64
        /// When the first of them was, or the wait began.
        var since: Int64
        /// The time that the clock showed when this was stored.
        var storedAt: Int64
        var error: String
    }

    struct Pending: Sendable, Equatable {
        var challenge: ACMEChallenge
        /// Seconds since 1970; for one whose gateway has ended meanwhile.
        var endsAt: Int64
    }

    /// An order that the directory is asked to finalize, until its certificate is stored. The next attempt at the name
    /// goes on with it, because directories issue few certificates of one name.
    struct Finalized: Sendable, Equatable {
        var name: String
        var directory: String
        /// The order's.
        var url: String
        /// The certificate's.
        var key: Secret
        /// Seconds since 1970.
        var at: Int64
    }

    var account: Account?
    var certificates: [ObtainedCertificate] = []
    var failures: [Failure] = []
    var pending: [Pending] = []
    var finalized: [Finalized] = []

    package init() {}

    func certificate(of name: String) -> ObtainedCertificate? {
        certificates.first { $0.name.hasSameBytes(as: name) }
    }

    func failure(of name: String) -> Failure? { failures.first { $0.name.hasSameBytes(as: name) } }

    /// The order of a name at a directory that is to be gone on with.
    func finalized(_ name: String, directory: String, now: Int64) -> Finalized? {
        finalized.first { order in
            order.name.hasSameBytes(as: name) && order.directory.hasSameBytes(as: directory)
                && order.at > now - Self.finalizedStay
        }
    }

    mutating func keep(_ certificate: ObtainedCertificate) {
        certificates.removeAll { $0.name.hasSameBytes(as: certificate.name) }
        certificates.append(certificate)
        failures.removeAll { $0.name.hasSameBytes(as: certificate.name) }
        dropFinalized(certificate.name)
    }

    mutating func keep(_ order: Finalized) {
        dropFinalized(order.name)
        finalized.append(order)
    }

    mutating func dropFinalized(_ name: String) {
        finalized.removeAll { $0.name.hasSameBytes(as: name) }
    }

    mutating func keep(_ failure: Failure) {
        failures.removeAll { $0.name.hasSameBytes(as: failure.name) }
        failures.append(failure)
    }

    /// How long the failures of a name that is no longer ordered are stored, in seconds. Another gateway may still
    /// order it, and no wait is longer.
    private static let failuresStay: Int64 = 604_800
    /// How long an order that was finalized is gone on with, in seconds: one that the directory never ends must not be
    /// in the way of others for long.
    private static let finalizedStay: Int64 = 86_400

    /// Drops all that is of no more use: challenges whose time is over, old orders, and of names that are not ordered any
    /// more the certificates that have expired and old failures.
    ///
    /// - Parameter names: all that are ordered.
    mutating func prune(names: [String], now: Int64) {
        let ordered = Set(names.exact)
        pending.removeAll { $0.endsAt <= now }
        finalized.removeAll { $0.at <= now - Self.finalizedStay }
        failures.removeAll { !ordered.contains($0.name.exact) && $0.lastAt < now - Self.failuresStay }
        certificates.removeAll { certificate in
            !ordered.contains(certificate.name.exact) && certificate.expiresAt <= now
        }
    }
}

/// The form in which the state is stored: JSON.
extension ACMEState {
    struct Damaged: Error {}

    private static let form: Int64 = 1
    /// In bytes: a longer one is neither stored nor read.
    static let longest = 1 << 24

    func encoded() -> [UInt8] {
        let whole: JSONObject = [
            "acme": .number(JSONNumber(Self.form)),
            "account": account.map(Self.json) ?? .null,
            "certificates": .array(
                certificates.map { certificate in
                    [
                        "name": .string(certificate.name),
                        "directory": .string(certificate.directory),
                        "chain": .string(String(decoding: certificate.chain, as: UTF8.self)),
                        "key": .string(certificate.key.exposeText()),
                        "obtained_at": .number(JSONNumber(certificate.obtainedAt)),
                    ]
                }),
            "failures": .array(
                failures.map { failure in
                    [
                        "name": .string(failure.name), "count": .number(JSONNumber(failure.count)),
                        "next_at": .number(JSONNumber(failure.nextAt)), "last_at": .number(JSONNumber(failure.lastAt)),
                        "since": .number(JSONNumber(failure.since)),
                        "stored_at": .number(JSONNumber(failure.storedAt)), "error": .string(failure.error),
                    ]
                }),
            "pending": .array(
                pending.map { pending in
                    [
                        "type": .string(pending.challenge.type.rawValue), "name": .string(pending.challenge.name),
                        "token": .string(pending.challenge.token),
                        "key_authorization": .string(pending.challenge.keyAuthorization),
                        "ends_at": .number(JSONNumber(pending.endsAt)),
                    ]
                }),
            "finalized": .array(
                finalized.map { order in
                    [
                        "name": .string(order.name), "directory": .string(order.directory), "url": .string(order.url),
                        "key": .string(order.key.exposeText()), "at": .number(JSONNumber(order.at)),
                    ]
                }),
        ]
        return whole.encoded() + [0x0A]
    }

    private static func json(_ account: Account) -> JSON {
        [
            "directory": .string(account.directory), "key": .string(account.key.exposeText()),
            "url": account.url.map { .string($0) } ?? .null,
            "contacts": .array(account.contacts.map { .string($0) }),
        ]
    }

    init(decoding bytes: [UInt8]) throws(Damaged) {
        guard let json = try? JSON.parse(bytes, limits: JSONLimits(maximumBytes: Self.longest)),
            json["acme"]?.integerValue == Self.form
        else { throw Damaged() }
        if let account = json["account"], account.objectValue != nil {
            guard let directory = account["directory"]?.stringValue, let key = account["key"]?.stringValue else {
                throw Damaged()
            }
            self.account = Account(
                directory: directory, key: Secret(key), url: account["url"]?.stringValue,
                contacts: (account["contacts"]?.arrayValue ?? []).compactMap(\.stringValue))
        }
        certificates = try Self.all(json["certificates"], ObtainedCertificate.init)
        failures = try Self.all(json["failures"], Failure.init)
        pending = try Self.all(json["pending"], Pending.init)
        // Earlier versions did not store them.
        if let orders = json["finalized"] { finalized = try Self.all(orders, Finalized.init) }
    }

    private static func all<Value>(_ json: JSON?, _ read: (JSON) -> Value?) throws(Damaged) -> [Value] {
        guard let entries = json?.arrayValue else { throw Damaged() }
        let values = entries.compactMap(read)
        guard values.count == entries.count else { throw Damaged() }
        return values
    }
}

extension ObtainedCertificate {
    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.stringValue, let chain = json["chain"]?.stringValue,
            let key = json["key"]?.stringValue, let obtainedAt = json["obtained_at"]?.integerValue
        else { return nil }
        // Earlier versions did not store the directory. Such a certificate is renewed soon.
        self.init(
            name: name, directory: json["directory"]?.stringValue ?? "", chain: Array(chain.utf8), key: Secret(key),
            obtainedAt: obtainedAt)
    }
}

extension ACMEState.Failure {
    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.stringValue, let count = json["count"]?.integerValue,
            let nextAt = json["next_at"]?.integerValue, let lastAt = json["last_at"]?.integerValue,
            let error = json["error"]?.stringValue
        else { return nil }
        // Earlier versions did not store when failures began and when they were stored.
        let since = json["since"]?.integerValue ?? (lastAt > 0 ? lastAt : nextAt)
        self.init(
            name: name, count: count, nextAt: nextAt, lastAt: lastAt, since: since,
            storedAt: json["stored_at"]?.integerValue ?? max(lastAt, since), error: error)
    }
}

extension ACMEState.Pending {
    fileprivate init?(_ json: JSON) {
        guard let type = json["type"]?.stringValue.flatMap(ACMEChallengeType.init(exactly:)),
            let name = json["name"]?.stringValue, let token = json["token"]?.stringValue,
            let keyAuthorization = json["key_authorization"]?.stringValue, let endsAt = json["ends_at"]?.integerValue
        else { return nil }
        self.init(
            challenge: ACMEChallenge(type: type, name: name, token: token, keyAuthorization: keyAuthorization),
            endsAt: endsAt)
    }
}

extension ACMEState.Finalized {
    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.stringValue, let directory = json["directory"]?.stringValue,
            let url = json["url"]?.stringValue, let key = json["key"]?.stringValue, let at = json["at"]?.integerValue
        else { return nil }
        self.init(name: name, directory: directory, url: url, key: Secret(key), at: at)
    }
}
