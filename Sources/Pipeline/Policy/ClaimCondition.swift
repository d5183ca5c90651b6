internal import Encoding

/// A condition on the value of one claim.
package struct ClaimCondition: Sendable, Hashable {
    package enum Test: Sendable, Hashable {
        /// The claim exists and is not null.
        case present
        /// The claim is one of these texts. Of a list, one matching element is enough.
        case oneOf([String])
    }

    package let claim: ClaimPath
    package let test: Test

    package init(_ claim: ClaimPath, _ test: Test) {
        self.claim = claim
        self.test = test
    }

    func holds(for claims: JSONObject) -> Bool {
        guard let value = claim.value(in: claims) else { return false }
        switch test {
        case .present:
            return true
        case .oneOf(let texts):
            let candidates = value.arrayValue ?? [value]
            return candidates.contains { candidate in texts.contains { Self.isText($0, candidate) } }
        }
    }

    /// Text is compared byte for byte, whole numbers by value, and booleans by their JSON spelling. Nested lists and
    /// objects never match.
    private static func isText(_ text: String, _ value: JSON) -> Bool {
        switch value {
        case .string(let string): string.hasSameBytes(as: text)
        case .bool(let flag): text == (flag ? "true" : "false")
        case .number(let number):
            number.text == text || number.integerValue.map { $0 == Int64(text) } == true
        case .null, .array, .object: false
        }
    }
}
