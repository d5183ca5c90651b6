/// The kinds of values that are stored for minutes or hours. The raw value is stored.
package enum ShortLivedKind: String, Sendable, CaseIterable {
    /// A translated sign-in that waits for its next step.
    case signInStep = "sign-in step"
    /// The session of a refresh token that a translated call has returned.
    case directSession = "direct session"
    /// Apple's grant for a sign-in that may be retried.
    case unusedGrant = "unused grant"
}

/// A value and its key.
package struct ShortLivedValue: Sendable, Equatable {
    /// A digest, which does not reveal its input.
    package var key: String
    /// Sealed by the caller.
    package var value: [UInt8]

    package init(key: String, value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// Values that one gateway stores and any other may need soon. Each call is atomic, and all times are by the records'
/// clock.
package protocol ShortLivedRecords: Sendable {
    /// Stores values for a number of seconds, replacing earlier values of the same keys.
    func keep(_ values: [ShortLivedValue], _ kind: ShortLivedKind, seconds: Int64) async throws

    /// Returns the values that exist.
    func values(_ kind: ShortLivedKind, by keys: [String]) async throws -> [ShortLivedValue]

    /// Removes and returns a value; nil if there is none. Of several callers, one gets it.
    func take(_ kind: ShortLivedKind, by key: String) async throws -> [UInt8]?

    func removeEnded() async throws
}
