internal import Encoding

/// An order for one certificate (RFC 8555, 7.1.3).
struct ACMEOrder: Sendable {
    enum Status: String, CaseIterable {
        case pending, ready, processing, valid, invalid
    }

    let status: Status
    let authorizations: [String]
    let finalize: String
    let certificate: String?
    let problem: ACMEProblem?

    init(_ json: JSON, origin: ACMEOrigin) throws(ACMEError) {
        guard let status = json["status"]?.stringValue.flatMap(Status.init(exactly:)) else {
            throw .malformed("an order without a status")
        }
        let authorizations = json["authorizations"]?.arrayValue ?? []
        // An order for one name has one authorization.
        guard (1...4).contains(authorizations.count) else { throw .malformed("the order's authorizations") }
        self.status = status
        self.authorizations = try authorizations.map { (json) throws(ACMEError) in
            try origin.url(json, "authorization")
        }
        finalize = try origin.url(json["finalize"], "finalize")
        certificate = try json["certificate"].map { (json) throws(ACMEError) in try origin.url(json, "certificate") }
        problem = json["error"].map { ACMEProblem($0, status: 0) }
    }
}

/// The account's authorization for a name (RFC 8555, 7.1.4).
struct ACMEAuthorization: Sendable {
    enum Status: String, CaseIterable {
        case pending, valid, invalid, deactivated, expired, revoked
    }

    struct Challenge: Sendable {
        let type: String
        let url: String
        let token: String
        let problem: ACMEProblem?
    }

    let status: Status
    let name: String
    let challenges: [Challenge]

    init(_ json: JSON, origin: ACMEOrigin) throws(ACMEError) {
        guard let status = json["status"]?.stringValue.flatMap(Status.init(exactly:)),
            let name = json["identifier"]?["value"]?.stringValue
        else { throw .malformed("an authorization without status or name") }
        self.status = status
        self.name = name
        var challenges: [Challenge] = []
        for json in (json["challenges"]?.arrayValue ?? []).prefix(16) {
            // Types without a token are not supported.
            guard let type = json["type"]?.stringValue, let token = json["token"]?.stringValue else { continue }
            challenges.append(
                Challenge(
                    type: type, url: try origin.url(json["url"], "challenge"), token: try Self.token(token),
                    problem: json["error"].map { ACMEProblem($0, status: 0) }))
        }
        self.challenges = challenges
    }

    /// RFC 8555, 8.3: only base64url, since the token becomes part of a path.
    private static func token(_ text: String) throws(ACMEError) -> String {
        guard (1...128).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
        else { throw .malformed("a challenge's token") }
        return text
    }

    var problem: ACMEProblem? { challenges.lazy.compactMap(\.problem).first }
}
