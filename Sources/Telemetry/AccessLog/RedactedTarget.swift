/// A request's target as it may be logged.
enum RedactedTarget {
    /// Longer names are more likely a misplaced token than a name.
    private static let maximumNameLength = 64
    private static let maximumLength = 2048

    /// The path and the names of the query's parameters: `/a?b=1&c=2` gives `/a?b=&c=`.
    ///
    /// A parameter without `=` may be a value itself, such as a one-time code, and is written as `…`, as is an
    /// overlong name. So is the end of an overlong target.
    static func bytes(of target: String) -> [UInt8] {
        var result: [UInt8] = []
        let target = target.utf8
        let query = target.firstIndex(of: UInt8(ascii: "?"))
        result.append(contentsOf: target[..<(query ?? target.endIndex)])
        if let query {
            result.append(UInt8(ascii: "?"))
            let parameters = target[query...].dropFirst().split(
                separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            for (index, parameter) in parameters.enumerated() {
                if index > 0 { result.append(UInt8(ascii: "&")) }
                result.append(contentsOf: name(of: parameter))
                if result.count > maximumLength { break }
            }
        }
        if result.count > maximumLength {
            result.removeSubrange(maximumLength...)
            result.append(contentsOf: "…".utf8)
        }
        return result
    }

    private static func name(of parameter: Substring.UTF8View) -> [UInt8] {
        guard !parameter.isEmpty else { return [] }
        guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { return Array("…".utf8) }
        let name = parameter[..<equals]
        return (name.count > maximumNameLength ? Array("…".utf8) : Array(name)) + [UInt8(ascii: "=")]
    }
}
