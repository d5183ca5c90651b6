internal import Pipeline
internal import SettingsReader

/// Headers of clients that are forwarded although backends trust them: `forward_headers` of a route or upstream.
package struct ForwardHeaderSettings: Sendable {
    /// In the spelling of the file.
    package var names: [String]
    /// Nil if the file has none.
    var place: SettingsPlace?

    init(reading keys: SettingsMapping) {
        names = keys.list("forward_headers", .wholeHeaderName, of: "header names") ?? []
        place = keys.place(of: "forward_headers")
    }

    /// Records an error for each header that cannot be forwarded by this key: the gateway's own headers, and those that
    /// are always forwarded.
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

    /// A warning for each header that is forwarded.
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
    /// A complete header name.
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
