internal import Cryptography

/// The assertions of one token that are still good, ready as header lines: one for each audience that was asked for.
package struct IssuedAssertions {
    private struct Issued {
        let audience: Int
        let key: AssertionKey
        /// The seconds in which it is given: from its `iat` on, until a new one is signed. After a clock was set back,
        /// it would be of the future.
        let life: Range<Int64>
        let line: [UInt8]
    }

    private var issued: [Issued] = []

    package init() {}

    /// The line for an audience. It is signed anew when less than half of its life is left, and at once when another
    /// key signs: the one before may be gone from the key set.
    ///
    /// - Parameter audience: its number in the gate, and its text.
    mutating func line(
        for audience: (number: Int, text: String), of token: VerifiedToken, _ assertion: Assertion, key: AssertionKey,
        now: Int64
    ) throws(CryptographyError) -> [UInt8] {
        let place = issued.firstIndex { $0.audience == audience.number }
        if let place, issued[place].key === key, issued[place].life.contains(now) { return issued[place].line }
        // An assertion ends with its token at the latest, which is taken until the clock skew after its `exp`.
        let expires = min(now + assertion.lifetime, token.proof?.endsAt ?? now)
        let claims = assertion.claims(of: token, audience: audience.text, now: now, expires: expires)
        let line = Array("\(assertion.header): \(try key.token(of: claims))\r\n".utf8)
        let renewsAt = max(now, min(now + (assertion.lifetime + 1) / 2, expires))
        let renewed = Issued(audience: audience.number, key: key, life: now..<renewsAt, line: line)
        if let place { issued[place] = renewed } else { issued.append(renewed) }
        return line
    }

    /// About how much one takes of a token whose identity lines are so long.
    static func cost(ofLines count: Int) -> Int { count * 2 + 1024 }
}
