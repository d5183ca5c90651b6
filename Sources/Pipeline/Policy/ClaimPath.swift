internal import Encoding

/// The path of a claim: the name of a member of the payload, then the names of nested members.
///
/// A list of names instead of one text with separators, because names of claims contain dots, colons and slashes.
package struct ClaimPath: Sendable, Hashable {
    /// The names from the outside in, at least one.
    package let names: [String]

    package init(_ names: [String]) {
        self.names = names
    }

    /// The value at this path; nil if it is missing or null. Names are compared byte for byte.
    func value(in claims: JSONObject) -> JSON? {
        var found: JSON = .object(claims)
        for name in names {
            guard let next = found[name] else { return nil }
            found = next
        }
        // A bare `nil` would be JSON's null here.
        return found == .null ? Optional.none : found
    }
}
