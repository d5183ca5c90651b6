internal import Cryptography
internal import Encoding

/// The result of verifying a token.
package enum Verdict: Sendable {
    case verified(VerifiedToken)
    case rejected(RejectReason)
    /// The issuer has no key set yet, or its set has no key with this `kid`. The caller fetches the set and verifies
    /// again, or rejects with ``RejectReason/unknownKey`` if the set is recent enough.
    case needsKeys(issuerIndex: Int, keyID: String)
}

/// Verifies JWTs (RFC 7519) as RFC 8725 requires. A value: it fetches nothing and reads no clock.
package struct TokenVerifier: Sendable {
    package static let defaultMaximumTokenBytes = 8192

    /// The issuers, in the order of their indexes.
    package let issuers: [Issuer]
    let maximumTokenBytes: Int

    package init(issuers: [Issuer], maximumTokenBytes: Int = defaultMaximumTokenBytes) {
        self.issuers = issuers
        self.maximumTokenBytes = maximumTokenBytes
    }

    /// Verifies a compact JWS.
    ///
    /// - Parameters:
    ///   - token: The token's own bytes, without `Bearer`.
    ///   - accepting: The accepted issuers and kinds of token.
    ///   - keys: Returns the current key set of the issuer at an index, nil if there is none.
    ///   - now: Seconds since 1970.
    package func verify(
        _ token: some Collection<UInt8>, accepting: TokenAcceptance, keys: (_ issuerIndex: Int) -> KeySet?, now: Int64
    ) -> Verdict {
        let token = Array(token)
        return verify(token.span, accepting: accepting, keys: keys, headers: nil, signatures: nil, now: now)
    }

    /// Verifies a compact JWS without copying it.
    ///
    /// - Parameters:
    ///   - headers: the cached headers of the event loop.
    ///   - signatures: the event loop's access to the signatures that any loop has verified.
    package func verify(
        _ token: borrowing Span<UInt8>, accepting: TokenAcceptance, keys: (_ issuerIndex: Int) -> KeySet?,
        headers: TokenHeaders?, signatures: LoopSignatures? = nil, now: Int64
    ) -> Verdict {
        guard token.count <= maximumTokenBytes else { return .rejected(.tokenTooLarge) }
        do throws(RejectReason) {
            return try judge(
                token, accepting: accepting, keys: keys, headers: headers, signatures: signatures, now: now)
        } catch {
            return .rejected(error)
        }
    }

    private func judge(
        _ text: borrowing Span<UInt8>, accepting: TokenAcceptance, keys: (Int) -> KeySet?, headers: TokenHeaders?,
        signatures: LoopSignatures?, now: Int64
    ) throws(RejectReason) -> Verdict {
        let token = try CompactToken(text, headers: headers)
        let claims = try token.claims()
        let (header, headerIsKnown) = try token.checkedHeader()
        let index = try issuerIndex(of: claims, accepting: accepting)
        let issuer = issuers[index]
        guard issuer.types.accepts(header.type) else { throw .typeNotAllowed }
        guard !header.keyID.isEmpty || issuer.hasNamelessKey else { throw .keyIDInvalid }
        // Checked before the keys, which are not fetched for a token that none of them can verify.
        guard header.algorithm(among: issuer.algorithms) != nil else { throw .algorithmNotAllowed }
        guard let keySet = keys(index),
            let key = try token.key(
                of: header, in: keySet, among: issuer.algorithms, token: text, signatures: signatures)
        else { return .needsKeys(issuerIndex: index, keyID: header.keyID) }
        if !headerIsKnown { headers?.remember(header, text.extracting(first: token.headerCount)) }
        return .verified(
            try ClaimsCheck(issuer: issuer, accepting: accepting, now: now).verified(
                claims, keyID: header.keyID, by: key, generation: keySet.generation, issuerIndex: index))
    }

    /// The issuer that the payload names. It is unverified and only selects the keys that may verify it.
    private func issuerIndex(
        of payload: JSONObject, accepting: TokenAcceptance
    ) throws(RejectReason) -> Int {
        var isKnown = false
        var accepted: Int?
        let isText = payload.withText(of: "iss") { name in
            for index in issuers.indices where name.hasSameBytes(as: issuers[index].issuer.utf8.span) {
                isKnown = true
                guard accepting.accepts(issuerNamed: issuers[index].name) else { continue }
                accepted = index
                return
            }
        }
        guard isText else { throw .issuerInvalid }
        guard let accepted else { throw isKnown ? .issuerNotAccepted : .unknownIssuer }
        return accepted
    }
}
