internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline
internal import Store

/// Sign-in on Cognito's own pages: the parts that its endpoints share.
struct HostedSignIn: Sendable {
    /// The time limit of a sign-in, in seconds.
    static let signInLifetime: Int64 = 600
    /// The lifetime of an authorization code, in seconds.
    static let codeLifetime: Int64 = 60

    let settings: HostedSignInSettings
    let domain: HostedDomain
    let codes: any AuthorizationCodeRecords
}

extension CognitoAccounts {
    /// - Throws: 404 for a pool without hosted sign-in, which may share its prefix with one that has it.
    func requireHosted() throws(Refusal) -> HostedSignIn {
        guard let hosted else { throw .notFound() }
        return hosted
    }

    /// Returns whether a result belongs to this app client, this sign-in and one user (OpenID Connect Core, 3.1.3.7).
    /// It came from the domain itself, whose certificate was verified.
    func isOf(_ nonce: String, _ result: AuthenticationResult) -> Bool {
        guard let access = result.accessClaims, let id = result.idClaims, let subject = access["sub"]?.stringValue,
            let expiry = id["exp"]?.integerValue
        else { return false }
        let claims: [(JSON?, String)] = [
            (access["iss"], settings.issuer), (access["client_id"], settings.clientID), (access["token_use"], "access"),
            (id["iss"], settings.issuer), (id["aud"], settings.clientID), (id["token_use"], "id"),
            (id["sub"], subject), (id["nonce"], nonce),
        ]
        return claims.allSatisfy { ($0?.stringValue).hasSameBytes(as: $1) } && Int64(expiry) > now()
    }
}

extension SHA256 {
    /// Returns the code challenge of a verifier by the method S256 (RFC 7636, 4.2).
    static func codeChallenge(of verifier: String) -> String { Base64URL.encode(hash(Array(verifier.utf8))) }
}
