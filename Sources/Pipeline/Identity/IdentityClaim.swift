internal import Encoding

/// A claim that the backend receives in a header of its own.
package struct IdentityClaim: Sendable, Hashable {
    /// The full name of the header.
    package let header: String
    package let claim: ClaimPath

    package init(header: String, claim: ClaimPath) {
        self.header = header
        self.claim = claim
    }

    /// Appends the claim in the encoding of ``IdentityLines``; nothing if it has no value.
    ///
    /// A list is joined by `,`. A comma is also encoded in a single text, so that no text can be mistaken for a list.
    /// Numbers and booleans are written as in JSON, objects and nested lists as their JSON text.
    func appendValue(in claims: JSONObject, to lines: inout [UInt8]) {
        guard let value = claim.value(in: claims) else { return }
        let elements = value.arrayValue ?? [value]
        IdentityLines.append(elements.map(Self.text), joinedBy: UInt8(ascii: ","), to: &lines)
    }

    private static func text(_ value: JSON) -> String {
        switch value {
        case .null: ""
        case .string(let text): text
        case .bool, .number, .array, .object: String(decoding: value.encoded(), as: UTF8.self)
        }
    }

    /// Whether a header of this name cannot carry a claim, because the gateway or requests use it for something else.
    package static func isReserved(_ header: String, identityNamespace: String) -> Bool {
        let name = HeaderNames.normalised(header)
        let namespace = HeaderNames.normalised(identityNamespace)
        let foreign = Set(TrustedHeader.Meaning.allCases).subtracting([.identity])
        return HeaderNames.isOwn(name, orMeans: foreign) || HeaderNames.isProtected(name) || name.hasPrefix("sec-")
            || IdentityLines.names.contains { name == namespace + HeaderNames.normalised($0) }
    }

    /// Whether the header's name begins with the namespace of the identity headers, in any spelling.
    package static func isInNamespace(_ header: String, _ namespace: String) -> Bool {
        HeaderNames.normalised(header).hasPrefix(HeaderNames.normalised(namespace))
    }

    /// Whether two headers are the same to backends that convert names into variables.
    package static func isSameHeader(_ one: String, _ other: String) -> Bool {
        HeaderNames.normalised(one) == HeaderNames.normalised(other)
    }
}
