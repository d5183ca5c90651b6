/// The limit on verifying tokens with a list of revocations that can no longer be read, as while the database is away.
package struct RevocationStaleness: Sendable, Equatable {
    /// The age of the list in seconds from which it is too old.
    package var after: Int64
    /// Whether no token is accepted then. Otherwise verification continues with the old list.
    package var closes: Bool

    package init(after: Int64, closes: Bool) {
        self.after = after
        self.closes = closes
    }

    /// - Parameter age: the age of the list, in seconds.
    func makesTooOld(_ age: Int64) -> Bool { closes && age >= after }
}
