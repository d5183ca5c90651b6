internal import Encoding

/// Writes a verified identity as complete header lines, each header at most once. The lines are made once per token and
/// cached.
///
/// Values are percent-encoded UTF-8, which any URL decoder can reverse: every byte other than visible ASCII becomes
/// `%XX`, and so does `%` itself. A space stays inside a value and is encoded at its ends. In `Groups` and in headers
/// of configured claims, which are joined by `,`, commas are encoded too. In `Scopes`, which are joined by a space,
/// every space is encoded. Split first, then decode. Absent or empty claims have no line.
package struct IdentityLines: Sendable {
    /// The maximum length of an encoded value, in bytes.
    static let maximumValueLength = 4096

    /// The maximum length of all lines of one identity, in bytes.
    package static let maximumLength = 16 << 10

    /// The names of the headers without the namespace, in the order in which they are written.
    static let names = Header.allCases.map(\.rawValue)

    private enum Header: String, CaseIterable {
        case subject = "Subject"
        case email = "Email"
        case emailVerified = "Email-Verified"
        case username = "Username"
        case groups = "Groups"
        case scopes = "Scopes"
        case issuer = "Issuer"
        case client = "Client"
        case tokenUse = "Token-Use"
        case expires = "Expires"
    }

    private let namespace: String
    private let claims: [IdentityClaim]

    /// - Parameters:
    ///   - namespace: the prefix of all names, a valid start of a header name.
    ///   - claims: further claims, each under a name of its own.
    package init(namespace: String = "X-Auth-", claims: [IdentityClaim] = []) {
        self.namespace = namespace
        self.claims = claims
    }

    /// Returns the lines, each ended by CR LF. Throws rather than omit or shorten values on which the backend bases
    /// decisions.
    package func lines(for token: VerifiedToken) throws(IdentityError) -> [UInt8] {
        guard !token.subject.isEmpty else { throw .emptySubject }
        var lines: [UInt8] = []
        lines.reserveCapacity(512)
        try append(.subject, to: &lines) { Self.append(token.subject, to: &$0) }
        try append(.email, to: &lines) { lines in token.withEmail { Self.append($0, to: &lines) } }
        if let verified = token.emailVerified {
            try append(.emailVerified, to: &lines) { $0.append(verified ? "true" : "false") }
        }
        try append(.username, to: &lines) { lines in token.withUsername { Self.append($0, to: &lines) } }
        try append(.groups, to: &lines) { lines in
            let start = lines.count
            token.forEachGroup { Self.append($0, behind: UInt8(ascii: ","), from: start, to: &lines) }
        }
        try append(.scopes, to: &lines) { lines in
            let start = lines.count
            token.forEachScope { Self.append($0, behind: UInt8(ascii: " "), from: start, to: &lines) }
        }
        try append(.issuer, to: &lines) { Self.append(token.issuer, to: &$0) }
        try append(.client, to: &lines) { Self.append(token.clientID, to: &$0) }
        try append(.tokenUse, to: &lines) { $0.append(token.tokenUse.rawValue) }
        try append(.expires, to: &lines) { $0.append(String(token.expires)) }
        guard !claims.isEmpty else { return lines }
        let payload = token.claims
        for claim in claims {
            try Self.append("", claim.header, to: &lines) { claim.appendValue(in: payload, to: &$0) }
        }
        return lines
    }

    private func append(
        _ header: Header, to lines: inout [UInt8], _ value: (inout [UInt8]) -> Void
    ) throws(IdentityError) {
        try Self.append(namespace, header.rawValue, to: &lines, value)
    }

    /// Writes a header line with the value that `value` appends; no line if it appends nothing.
    private static func append(
        _ namespace: String, _ name: String, to lines: inout [UInt8], _ value: (inout [UInt8]) -> Void
    ) throws(IdentityError) {
        let start = lines.count
        lines.append(namespace)
        lines.append(name)
        lines.append(": ")
        let valueStart = lines.count
        value(&lines)
        guard lines.count > valueStart else {
            lines.removeSubrange(start...)
            return
        }
        guard lines.count - valueStart <= maximumValueLength else { throw .tooLarge(header: namespace + name) }
        lines.append("\r\n")
        guard lines.count <= maximumLength else { throw .tooLarge(header: namespace + name) }
    }

    /// Appends the non-empty values in the encoding described above. The separator is encoded inside values.
    static func append(_ values: [String], joinedBy separator: UInt8, to lines: inout [UInt8]) {
        let start = lines.count
        for value in values { append(value.utf8.span, behind: separator, from: start, to: &lines) }
    }

    /// Appends one value of a list.
    ///
    /// - Parameter start: the position at which the first value begins.
    private static func append(
        _ value: borrowing Span<UInt8>, behind separator: UInt8, from start: Int, to lines: inout [UInt8]
    ) {
        guard !value.isEmpty else { return }
        if lines.count > start { lines.append(separator) }
        append(value, alsoEncoding: separator, to: &lines)
    }

    private static func append(_ value: String, to lines: inout [UInt8]) {
        append(value.utf8.span, to: &lines)
    }

    /// Appends the value's UTF-8 in the encoding described above.
    private static func append(
        _ bytes: borrowing Span<UInt8>, alsoEncoding separator: UInt8? = nil, to lines: inout [UInt8]
    ) {
        var index = 0
        while index < bytes.count, isPlain(bytes, index), bytes[index] != separator { index += 1 }
        // Nearly every value needs no encoding.
        guard index < bytes.count else {
            unsafe bytes.withUnsafeBufferPointer { unsafe lines.append(contentsOf: $0) }
            return
        }
        for index in bytes.indices {
            let byte = bytes[index]
            if isPlain(bytes, index), byte != separator {
                lines.append(byte)
            } else {
                lines.append(percentEncoded: byte)
            }
        }
    }

    @inline(__always)
    private static func isPlain(_ bytes: borrowing Span<UInt8>, _ index: Int) -> Bool {
        let (byte, space) = (bytes[index], UInt8(ascii: " "))
        if byte == space { return index > 0 && index < bytes.count - 1 }
        return byte > space && byte < 0x7F && byte != UInt8(ascii: "%")
    }
}
