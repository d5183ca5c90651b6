internal import Cryptography

/// The valid assertions of one token as header lines, one for each audience requested so far.
package struct IssuedAssertions {
    private struct Issued {
        let audience: Int
        let key: AssertionKey
        /// The period of use, in seconds since 1970: from its `iat` until its renewal. If the clock is set back, an
        /// assertion from the future is not used.
        let life: Range<Int64>
        let line: [UInt8]
    }

    private var issued: [Issued] = []

    package init() {}

    /// The header line for an audience. An assertion is renewed when less than half of its lifetime is left. It is also
    /// renewed when the signing key changes, because the previous key may have left the key set.
    ///
    /// - Parameter audience: its index among the gate's audiences, and its text.
    mutating func line(
        for audience: (number: Int, text: String), of token: VerifiedToken, _ assertion: Assertion, key: AssertionKey,
        now: Int64
    ) throws(CryptographyError) -> [UInt8] {
        let place = issued.firstIndex { $0.audience == audience.number }
        if let place, issued[place].key === key, issued[place].life.contains(now) { return issued[place].line }
        // An assertion expires with its token at the latest. The token is accepted until its `exp` plus the clock skew.
        let expires = min(now + assertion.lifetime, token.proof?.endsAt ?? now)
        let claims = assertion.claims(of: token, audience: audience.text, now: now, expires: expires)
        let line = Array("\(assertion.header): \(try key.token(of: claims))\r\n".utf8)
        let renewsAt = max(now, min(now + (assertion.lifetime + 1) / 2, expires))
        let renewed = Issued(audience: audience.number, key: key, life: now..<renewsAt, line: line)
        if let place { issued[place] = renewed } else { issued.append(renewed) }
        return line
    }

    /// The approximate memory of one assertion in bytes, given the length of the token's identity lines.
    static func cost(ofLines count: Int) -> Int { count * 2 + 1024 }
}
