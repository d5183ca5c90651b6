internal import Cryptography
internal import Yams

/// A single value that a reading of a settings file led to, by which a reload can tell what is another one than before.
///
/// Possible secrets (values of secret keys, and anything from the environment or a file) are not stored as text. They
/// are stored as an HMAC under a key that this process made, from which nothing can be guessed.
package struct ReadValue: Sendable {
    /// Where a value comes from.
    package enum Source: Sendable {
        /// It stands in the settings.
        case settings
        /// The settings leave it out.
        case standard
        /// It stands in the settings as the path of a file, whose contents count as well.
        case file
    }

    /// `routes[api].access`: an element of a list is called by its name, where it has one, and else by its index. That
    /// of an element of a list of single values is the list's.
    package let path: String
    /// Nil for what may be a secret. Control characters are visible.
    package let text: String?
    package let source: Source
    /// Whether it is an element of a list of single values whose texts tell them apart.
    package let isElement: Bool
    private let code: [UInt8]

    package var isSecret: Bool { text == nil }

    package func isSame(as other: ReadValue) -> Bool { code == other.code }

    /// - Parameters:
    ///   - text: nil for what may be a secret.
    ///   - bytes: what makes it another value than before.
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
    /// The names of the list's elements in reports of changes: the operator's own names, or texts that distinguish
    /// them. Nil for an element that has no such text, or shares it.
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
