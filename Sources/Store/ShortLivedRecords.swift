/// The kinds of values that are stored for minutes or hours. A raw value is stored with each.
package enum ShortLivedKind: String, Sendable, CaseIterable {
    /// A translated sign-in that waits for its next step.
    case signInStep = "sign-in step"
    /// The session of a refresh token that a translated call has given.
    case directSession = "direct session"
    /// Apple's grant for a sign-in that may be tried again.
    case unusedGrant = "unused grant"
}

/// A value by its key.
package struct ShortLivedValue: Sendable, Equatable {
    /// A digest, which reveals nothing.
    package var key: String
    /// Sealed by the caller.
    package var value: [UInt8]

    package init(key: String, value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// Values that one gateway stores and any other may need soon. Each call is one atomic step, and all times are by the
/// clock of the records.
package protocol ShortLivedRecords: Sendable {
    /// Keeps values for so many seconds, in the place of earlier ones of the same keys.
    func keep(_ values: [ShortLivedValue], _ kind: ShortLivedKind, seconds: Int64) async throws

    /// Those of the values that are there.
    func values(_ kind: ShortLivedKind, by keys: [String]) async throws -> [ShortLivedValue]

    /// Removes a value. Of several callers one gets it.
    func take(_ kind: ShortLivedKind, by key: String) async throws -> [UInt8]?

    func removeEnded() async throws
}
