package import Cryptography
internal import Encoding

/// An obtained certificate with its key.
package struct ObtainedCertificate: Sendable, Equatable {
    /// The host name, in lower case.
    package let name: String
    /// The URL of the directory that issued it.
    package let directory: String
    /// PEM: the certificate first, then the intermediate certificates.
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

    /// The earliest expiry in the chain, in seconds since 1970; `Int64.min` if the chain cannot be read.
    var expiresAt: Int64 { read?.notAfter ?? .min }

    func isValid(at time: Int64) -> Bool { read.map { $0.notBefore <= time && $0.notAfter > time } ?? false }

    private var read: ServerCertificate? { ServerCertificate(chain: chain, for: name) }
}

/// The persistent ACME state: the account, certificates (of several directories after a change of directory), failures,
/// pending challenges and submitted orders. It is stored and replaced as one value.
package struct ACMEState: Sendable, Equatable {
    struct Account: Sendable, Equatable {
        var directory: String
        var key: Secret
        /// Nil before the directory has created the account.
        var url: String?
        var contacts: [String]
    }

    /// The failed attempts for a name's certificate since the last success.
    struct Failure: Sendable, Equatable {
        var name: String
        /// 0 for a name that only waits because another one's order failed.
        var count: Int64
        /// When the next attempt may be made; seconds since 1970.
        var nextAt: Int64
        /// When the last attempt was made; 0 if there was none.
        var lastAt: Int64
        /// When the first failure occurred, or the wait began.
        var since: Int64
        /// The clock's time when this was stored.
        var storedAt: Int64
        var error: String
    }

    struct Pending: Sendable, Equatable {
        var challenge: ACMEChallenge
        /// Seconds since 1970; limits a challenge whose gateway has ended.
        var endsAt: Int64
    }

    /// An order that is stored before the directory is asked to finalize it, until its certificate is stored. The next
    /// attempt for the name resumes it, because directories issue few certificates of one name.
    struct SubmittedOrder: Sendable, Equatable {
        var name: String
        var directory: String
        /// The order's URL.
        var url: String
        /// The certificate's key.
        var key: Secret
        /// Seconds since 1970.
        var storedAt: Int64
    }

    var account: Account?
    var certificates: [ObtainedCertificate] = []
    var failures: [Failure] = []
    var pending: [Pending] = []
    var submittedOrders: [SubmittedOrder] = []

    package init() {}

    func certificate(of name: String) -> ObtainedCertificate? {
        certificates.first { $0.name.hasSameBytes(as: name) }
    }

    func failure(of name: String) -> Failure? { failures.first { $0.name.hasSameBytes(as: name) } }

    /// The submitted order that the next attempt for a name at a directory resumes; nil if there is none.
    func submittedOrder(_ name: String, directory: String, now: Int64) -> SubmittedOrder? {
        submittedOrders.first { order in
            order.name.hasSameBytes(as: name) && order.directory.hasSameBytes(as: directory)
                && order.storedAt > now - Self.submittedOrderLifetime
        }
    }

    mutating func keep(_ certificate: ObtainedCertificate) {
        certificates.removeAll { $0.name.hasSameBytes(as: certificate.name) }
        certificates.append(certificate)
        failures.removeAll { $0.name.hasSameBytes(as: certificate.name) }
        removeSubmittedOrder(certificate.name)
    }

    mutating func keep(_ order: SubmittedOrder) {
        removeSubmittedOrder(order.name)
        submittedOrders.append(order)
    }

    mutating func removeSubmittedOrder(_ name: String) {
        submittedOrders.removeAll { $0.name.hasSameBytes(as: name) }
    }

    mutating func keep(_ failure: Failure) {
        failures.removeAll { $0.name.hasSameBytes(as: failure.name) }
        failures.append(failure)
    }

    /// How long the failures of a name that is no longer ordered are stored, in seconds. Another gateway may still
    /// order it, and no wait is longer.
    private static let failuresStay: Int64 = 604_800
    /// For how many seconds a submitted order is resumed. One that the directory never completes must not block new
    /// orders for long.
    private static let submittedOrderLifetime: Int64 = 86_400

    /// Removes obsolete entries: expired challenges, old orders, and, for names that are no longer ordered, expired
    /// certificates and old failures.
    ///
    /// - Parameter names: all names that are ordered.
    mutating func prune(names: [String], now: Int64) {
        let ordered = Set(names.exact)
        pending.removeAll { $0.endsAt <= now }
        submittedOrders.removeAll { $0.storedAt <= now - Self.submittedOrderLifetime }
        failures.removeAll { !ordered.contains($0.name.exact) && $0.lastAt < now - Self.failuresStay }
        certificates.removeAll { certificate in
            !ordered.contains(certificate.name.exact) && certificate.expiresAt <= now
        }
    }
}

/// The stored form of the state: JSON.
extension ACMEState {
    struct Damaged: Error {}

    private static let form: Int64 = 1
    /// The maximum size in bytes: a larger state is neither stored nor read.
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
                submittedOrders.map { order in
                    [
                        "name": .string(order.name), "directory": .string(order.directory), "url": .string(order.url),
                        "key": .string(order.key.exposeText()), "at": .number(JSONNumber(order.storedAt)),
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
        // Earlier versions did not store orders.
        if let orders = json["finalized"] { submittedOrders = try Self.all(orders, SubmittedOrder.init) }
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

extension ACMEState.SubmittedOrder {
    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.stringValue, let directory = json["directory"]?.stringValue,
            let url = json["url"]?.stringValue, let key = json["key"]?.stringValue, let at = json["at"]?.integerValue
        else { return nil }
        self.init(name: name, directory: directory, url: url, key: Secret(key), storedAt: at)
    }
}
