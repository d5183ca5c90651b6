/// The token of a request to one of the gateway's own endpoints, as the gate has verified it.
package enum EndpointToken: Sendable {
    case valid(VerifiedToken)
    /// Only on routes that admit such tokens.
    case ended(EndedToken)

    package var valid: VerifiedToken? { if case .valid(let token) = self { token } else { nil } }
    package var ended: EndedToken? { if case .ended(let token) = self { token } else { nil } }
}

/// A token that was valid earlier and has no other defect.
package enum EndedToken: Sendable {
    case expired
    /// It has not expired.
    case revoked(VerifiedToken)
}
