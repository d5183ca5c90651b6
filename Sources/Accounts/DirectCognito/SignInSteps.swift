internal import Cognito
internal import Cryptography
internal import Encoding
internal import Locking
internal import Pipeline

/// The accounts of pending sign-in steps, by digests of the values that Cognito issued for them: a session and, for the
/// proof of a password, a secret block. For a device's step, the device's key counts too. The name in a client's
/// response proves nothing, since the client chooses it.
///
/// Kept in memory for as long as Cognito accepts a response; `DirectCognitoCalls` shares them with other gateways. The
/// capacity exceeds what Cognito issues for the 6000 steps a minute that the default limits allow, so that nobody can
/// evict a step.
package final class SignInSteps: Sendable {
    /// The longest session lifetime that an app client can configure, in seconds.
    static let lifetime: Int64 = 15 * 60
    private let table: Locked<ExpiringTable<SignInUnderWay>>
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    package init(capacity: Int = 200_000, now: @escaping @Sendable () -> Int64) {
        table = Locked(ExpiringTable(capacity: capacity))
        self.now = now
    }

    /// Stores the sign-in of a step.
    ///
    /// - Parameter digests: of the values that Cognito issued for the step.
    func note(_ signIn: SignInUnderWay, by digests: [String]) {
        let now = now()
        table.withLock { table in
            for digest in digests { table.set(signIn, of: digest, endsAt: now + Self.lifetime, at: now) }
        }
    }

    /// Returns the digests that are unknown here.
    func unknown(_ digests: [String]) -> [String] {
        let now = now()
        return table.withLock { table in digests.filter { table.value(of: $0, at: now) == nil } }
    }

    /// The account of a step.
    enum Finding: Equatable {
        case known(SignInUnderWay)
        /// It began elsewhere: all its values are unknown here.
        case unknown
        /// It has values of several accounts, or unknown values beside known ones. No regular client sends such a step.
        case contradictory
    }

    /// Finds the sign-in of a step.
    ///
    /// - Parameter digests: of the step's values in the call.
    func find(_ digests: [String]) -> Finding {
        let now = now()
        let found = table.withLock { table in digests.compactMap { table.value(of: $0, at: now) } }
        guard var signIn = found.first else { return .unknown }
        guard found.count == digests.count, found.allSatisfy({ $0.account.hasSameBytes(as: signIn.account) }) else {
            return .contradictory
        }
        signIn.isPasswordProven = found.allSatisfy(\.isPasswordProven)
        return .known(signIn)
    }
}
