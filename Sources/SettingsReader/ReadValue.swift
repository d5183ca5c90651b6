internal import Cryptography
internal import Yams

/// A single value of the settings, with a code by which a reload detects that it changed.
///
/// Possible secrets (values of secret keys, and anything from the environment or a file) are not stored as text, but
/// only as an HMAC under a random key of this process, from which the value can't be guessed.
package struct ReadValue: Sendable {
    /// The origin of a value.
    package enum Source: Sendable {
        /// Written in the settings.
        case settings
        /// A default: the settings leave the key out.
        case standard
        /// Written in the settings as the path of a file, whose contents count as well.
        case file
    }

    /// `routes[api].access`: a list's element is identified by its name if it has one, otherwise by its index. An
    /// element of a list of single values has the path of the list.
    package let path: String
    /// Nil if it may be a secret. Control characters are escaped.
    package let text: String?
    package let source: Source
    /// Whether this is an element of a list of single values, which are distinguished by their texts.
    package let isElement: Bool
    private let code: [UInt8]

    package var isSecret: Bool { text == nil }

    package func isSame(as other: ReadValue) -> Bool { code == other.code }

    /// - Parameters:
    ///   - text: nil if the value may be a secret.
    ///   - bytes: the value as it is compared with an earlier one.
    init(_ place: SettingsPlace, text: String?, bytes: [UInt8], source: Source) {
        isElement = place.list != nil && text != nil
        path = printable((isElement ? place.list : nil) ?? place.namedPath)
        self.text = text.map(printable)
        self.source = source
        code = HMACSHA256.authenticationCode(for: bytes, key: Self.key)
    }

    private static let key = SecureRandom.bytes(32)
}

extension SettingsNode {
    /// The names of the list's elements in reports of changes: the operator's own names, or other texts that
    /// distinguish them. Nil for an element without such a text, or with one that another element shares.
    static func names(of elements: [Node]) -> [String?] {
        let names = elements.map(nameInList)
        var counts: [String: Int] = [:]
        for case let name? in names { counts[name, default: 0] += 1 }
        return names.map { name in name.flatMap { counts[$0] == 1 ? $0 : nil } }
    }

    private static func nameInList(_ element: Node) -> String? {
        guard case .mapping(let mapping) = element else { return nil }
        let keys = ["name", "address", "route", "path", "url", "certificate", "claim", "issuer"]
        let text = keys.lazy.compactMap { mapping[$0]?.scalar?.string }.first
        guard let text, !namesVariable(text), !text.hasPrefix("file:") else { return nil }
        return text
    }
}
