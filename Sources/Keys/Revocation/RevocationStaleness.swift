/// How long tokens are verified by a list of revocations that cannot be read any more, as while the database is away.
package struct RevocationStaleness: Sendable, Equatable {
    /// The age of the list in seconds from which it is too old.
    package var after: Int64
    /// Whether no token counts then. Otherwise verification goes on with the old list.
    package var closes: Bool

    package init(after: Int64, closes: Bool) {
        self.after = after
        self.closes = closes
    }

    /// - Parameter age: of the list, in seconds.
    func makesTooOld(_ age: Int64) -> Bool { closes && age >= after }
}
