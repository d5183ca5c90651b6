/// A route's rewrite of the beginning of the path for its backend: one prefix is removed, another added.
///
/// It changes the authorised bytes, after the decision, and refuses paths that would then be ambiguous: those with a
/// prefix spelt with escapes, or followed by a parameter.
package struct TargetRewrite: Sendable, Hashable {
    private let strip: String
    private let add: String

    /// - Parameters: empty, or beginning with `/` and not ending with one.
    package init(stripPrefix: String = "", addPrefix: String = "") {
        self.strip = stripPrefix
        self.add = addPrefix
    }

    /// Returns the target to forward. It is parsed again, because it must be as unambiguous as the original.
    func apply(to path: RequestPath) throws(PathFault) -> String {
        let target = path.target.utf8
        guard target.starts(with: strip.utf8) else { throw .ambiguousRewrite }
        let rest = target.dropFirst(strip.utf8.count)
        switch rest.first {
        case UInt8(ascii: "/"): break
        case nil, UInt8(ascii: "?"): return try Self.checked((add.isEmpty ? "/" : add) + String(Substring(rest)))
        default: throw .ambiguousRewrite
        }
        return try Self.checked(add + String(Substring(rest)))
    }

    private static func checked(_ target: String) throws(PathFault) -> String {
        try RequestPath.parse(target).target
    }
}
