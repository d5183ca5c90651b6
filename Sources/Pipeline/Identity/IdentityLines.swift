internal import Encoding

/// Writes a verified identity as complete header lines, each header at most once. Made once for a token and kept.
///
/// The encoding of values is percent-encoded UTF-8 and can be undone by any URL decoder: every byte that is not
/// visible ASCII is `%XX`, and so is `%` itself; a space stays inside a value and is encoded at its ends. In
/// `Groups` and in headers of configured claims, joined by `,`, a comma is encoded too; in `Scopes`, joined by a space,
/// so is every space: split first, then decode. Claims that are absent or empty give no line.
package struct IdentityLines: Sendable {
    /// The most bytes one encoded value may have.
    static let maximumValueLength = 4096

    /// The most bytes all lines of one identity may have.
    package static let maximumLength = 16 << 10

    /// The headers' names behind the namespace, in the order in which they are written.
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
    ///   - claims: what else is told, under names of its own.
    package init(namespace: String = "X-Auth-", claims: [IdentityClaim] = []) {
        self.namespace = namespace
        self.claims = claims
    }

    /// The lines, each ended by CR LF. Throws rather than omit or shorten values that the backend decides by.
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

    /// Writes the line of a header with what `value` appends, or none where that is nothing.
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

    /// Appends those that aren't empty in the encoding described above, each also without the separator.
    static func append(_ values: [String], joinedBy separator: UInt8, to lines: inout [UInt8]) {
        let start = lines.count
        for value in values { append(value.utf8.span, behind: separator, from: start, to: &lines) }
    }

    /// The same for one of them.
    ///
    /// - Parameter start: where the first one begins.
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
        // Nearly every value is as it is.
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
