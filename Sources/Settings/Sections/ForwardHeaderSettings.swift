internal import Pipeline
internal import SettingsReader

/// Headers that clients may send on to a backend although servers believe them: `forward_headers` of a route or
/// upstream.
package struct ForwardHeaderSettings: Sendable {
    /// As the file has them.
    package var names: [String]
    /// Nil where the file has none.
    var place: SettingsPlace?

    init(reading keys: SettingsMapping) {
        names = keys.list("forward_headers", .wholeHeaderName, of: "header names") ?? []
        place = keys.place(of: "forward_headers")
    }

    /// Notes those as faults that can't be let through: the gateway's own, and what passes anyway.
    func check(_ identity: IdentitySettings, _ context: SettingsContext) {
        guard let place else { return }
        for name in names {
            if identity.covers(name) || identity.sets(name) {
                context.error("\(name) is an identity header, which only the gateway sets", at: place)
            } else if TrustedHeader.isGatewaysOwn(name) {
                context.error("\(name) is the gateway's own to set or to remove", at: place)
            } else if TrustedHeader.named(name) == nil {
                context.error("\(name) is not removed anyway: leave it out", at: place)
            }
        }
    }

    /// A warning for each header that is let through.
    var warnings: [SettingsWarning] {
        guard let place else { return [] }
        return names.compactMap { name in
            TrustedHeader.named(name).map { header in
                SettingsWarning(
                    kind: .trustedHeader, place: place,
                    "\(name) is let through, which \(header.readers) take for \(header.meaning): "
                        + header.meaning.consequence)
            }
        }
    }
}

extension ScalarFormat where Value == String {
    /// The whole name of a header.
    fileprivate static var wholeHeaderName: Self {
        Self { (text) throws(ScalarRefusal) in
            let excluded = [UInt8(ascii: ":"), UInt8(ascii: "*")]
            guard (1...64).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !excluded.contains($0) })
            else { throw ScalarRefusal("must be the whole name of a header") }
            return text
        }
    }
}
