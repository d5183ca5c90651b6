/// The error of an identity that cannot be sent to the backend. The request is then refused, never forwarded without
/// the header.
package enum IdentityError: Error, Sendable, Equatable {
    /// The encoded value of this header exceeds ``IdentityLines/maximumValueLength`` bytes, or with it all lines exceed
    /// ``IdentityLines/maximumLength``.
    case tooLarge(header: String)
    case emptySubject
}
