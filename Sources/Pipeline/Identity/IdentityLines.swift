/// Writes a verified identity as complete header lines, each header at most once. Made once for a token and kept.
///
/// The encoding of values is percent-encoded UTF-8 and can be undone by any URL decoder: every byte that is not
/// visible ASCII is `%XX`, and so is `%` itself; a space stays inside a value and is encoded at its ends. In
/// `Groups` and in headers of configured claims, joined by `,`, a comma is encoded too; in `Scopes`, joined by a space,
/// so is every space: split first, then decode. Claims that are absent or empty give no line.
package struct IdentityLines: Sendable {
    /// The most bytes one encoded value may have.
    package static let maximumValueLength = 4096

    /// The most bytes all lines of one identity may have.
    package static let maximumLength = 16 << 10

    /// The headers' names behind the namespace.
    static let names = [
        "Subject", "Email", "Email-Verified", "Username", "Groups", "Scopes", "Issuer", "Client", "Token-Use",
        "Expires",
    ]

    private let namespace: String
    private let claims: [IdentityClaim]

    /// - Parameters:
    ///   - namespace: the prefix of all names, a valid start of a header name.
    ///   - claims: what else is told, under names of its own.
    package init(namespace: String = "X-Auth-", claims: [IdentityClaim] = []) {
        self.namespace = namespace
        self.claims = claims
    }

    /// The lines, each ended by CR LF; `payload` is the token's. Throws rather than leave out or shorten what the backend decides by.
    package func lines(for identity: Identity, payload: JSONObject = [:]) throws(IdentityFault) -> [UInt8] {
        guard !identity.subject.isEmpty else { throw .emptySubject }
        var lines: [UInt8] = []
        lines.reserveCapacity(512)
        try append("Subject", Self.encoded(identity.subject), to: &lines)
        try append("Email", Self.encoded(identity.email ?? ""), to: &lines)
        if let verified = identity.emailVerified {
            try append("Email-Verified", Array((verified ? "true" : "false").utf8), to: &lines)
        }
        try append("Username", Self.encoded(identity.username ?? ""), to: &lines)
        try append("Groups", Self.joined(identity.groups, by: UInt8(ascii: ",")), to: &lines)
        try append("Scopes", Self.joined(identity.scopes, by: UInt8(ascii: " ")), to: &lines)
        try append("Issuer", Self.encoded(identity.issuer), to: &lines)
        try append("Client", Self.encoded(identity.clientID), to: &lines)
        try append("Token-Use", Array(identity.tokenUse.rawValue.utf8), to: &lines)
        try append("Expires", Array(String(identity.expires).utf8), to: &lines)
        for claim in claims { try append(header: claim.header, claim.encodedValue(in: payload), to: &lines) }
        return lines
    }

    private func append(_ name: String, _ value: [UInt8], to lines: inout [UInt8]) throws(IdentityFault) {
        try append(header: namespace + name, value, to: &lines)
    }

    private func append(header: String, _ value: [UInt8], to lines: inout [UInt8]) throws(IdentityFault) {
        guard !value.isEmpty else { return }
        guard value.count <= Self.maximumValueLength else { throw .tooLarge(header: header) }
        lines.append(contentsOf: header.utf8)
        lines.append(contentsOf: ": ".utf8)
        lines.append(contentsOf: value)
        lines.append(contentsOf: "\r\n".utf8)
        guard lines.count <= Self.maximumLength else { throw .tooLarge(header: header) }
    }

    static func joined(_ values: [String], by separator: UInt8) -> [UInt8] {
        var result: [UInt8] = []
        for value in values where !value.isEmpty {
            if !result.isEmpty { result.append(separator) }
            result.append(contentsOf: encoded(value, alsoEncoding: separator))
        }
        return result
    }

    /// The value's UTF-8 in the encoding described above.
    static func encoded(_ value: String, alsoEncoding separator: UInt8? = nil) -> [UInt8] {
        let space = UInt8(ascii: " ")
        var result: [UInt8] = []
        result.reserveCapacity(value.utf8.count)
        let bytes = value.utf8.span
        for index in bytes.indices {
            let byte = bytes[index]
            let isInside = index > 0 && index < bytes.count - 1
            let isPlain = (byte > space && byte < 0x7F && byte != UInt8(ascii: "%")) || (byte == space && isInside)
            if isPlain, byte != separator {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(upperHexDigit(byte >> 4))
                result.append(upperHexDigit(byte & 15))
            }
        }
        return result
    }

    private static func upperHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
