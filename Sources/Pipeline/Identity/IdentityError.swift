/// Why an identity can't be told to the backend; the request is then refused, never sent on without the header.
package enum IdentityError: Error, Sendable, Equatable {
    /// The encoded value of this header is over ``IdentityLines/maximumValueLength`` bytes, or all lines are with it
    /// over ``IdentityLines/maximumLength``.
    case tooLarge(header: String)
    case emptySubject
}
