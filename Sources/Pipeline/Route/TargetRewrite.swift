/// How a route changes the beginning of the path on the way to its backend: one prefix is taken off, another put
/// before.
///
/// It works on the bytes that were authorised, after the decision, and refuses what could then be read in two ways:
/// a prefix that is spelt with escapes, or that a parameter follows.
package struct TargetRewrite: Sendable, Hashable {
    private let strip: String
    private let add: String

    /// - Parameters: empty, or beginning with `/` and not ending with one.
    package init(stripPrefix: String = "", addPrefix: String = "") {
        self.strip = stripPrefix
        self.add = addPrefix
    }

    /// The target that is sent on, parsed once more: what it became must be as clear as what it was.
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
