internal import Cognito
internal import Cryptography
internal import Encoding
internal import Locking
internal import Pipeline

/// The accounts of the steps that Cognito waits for, by digests of what it gave for them: a session, and for the proof
/// of a password a secret block. Where it asks for a device, the device's key counts too. The name in an answer says
/// nothing about that, since the client chooses it.
///
/// Held in memory for as long as Cognito takes an answer; `DirectCognitoCalls` shares them with other gateways. The
/// capacity is more than what Cognito gives for the 6000 steps a minute that the default limits let through, so that
/// nobody pushes a step out.
package final class SignInSteps: Sendable {
    /// The longest that an app client can let a session live, in seconds.
    static let lifetime: Int64 = 15 * 60
    private let table: Locked<ExpiringTable<SignInUnderWay>>
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    package init(capacity: Int = 200_000, now: @escaping @Sendable () -> Int64) {
        table = Locked(ExpiringTable(capacity: capacity))
        self.now = now
    }

    /// - Parameter digests: of what Cognito gave for the step.
    func note(_ signIn: SignInUnderWay, by digests: [String]) {
        let now = now()
        table.withLock { table in
            for digest in digests { table.set(signIn, of: digest, endsAt: now + Self.lifetime, at: now) }
        }
    }

    /// Those of the digests that nothing is known of here.
    func unknown(_ digests: [String]) -> [String] {
        let now = now()
        return table.withLock { table in digests.filter { table.value(of: $0, at: now) == nil } }
    }

    /// The account of a step.
    enum Finding: Equatable {
        case known(SignInUnderWay)
        /// It began elsewhere: nothing that it shows is known here.
        case unknown
        /// It shows what is of several accounts, or something unknown beside what is known. No client does so by
        /// itself.
        case contradictory
    }

    /// - Parameter digests: of what the client shows for the step.
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
