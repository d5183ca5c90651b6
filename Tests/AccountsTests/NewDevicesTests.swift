import Pipeline
import Testing

@testable import Accounts
@testable import Store

@Suite("How many devices of an account become known")
struct NewDevicesTests {
    private let one = AccountLimitsTests()

    private func signIn(_ limits: AccountLimits, _ call: LimitedCall, as account: String) async throws {
        await limits.succeeded(try await limits.admit(call), call, as: account)
    }

    private func isKnown(
        _ device: String, of name: String = "ada@example.com", _ limits: AccountLimits
    ) async throws -> Bool {
        let admitted = try await limits.admit(one.signIn(name, device: device))
        limits.ended(admitted)
        return admitted.isKnownDevice
    }

    @Test("An account that signs in from ever new devices displaces no other account's device")
    func others() async throws {
        let limits = one.limits(try one.store())
        var settings = AccountLimitSettings()
        settings.lockout = LockoutTests.policy
        settings.maximumKeys = 1000
        limits.adopt(settings)
        try await signIn(limits, one.signIn(device: "phone-1"), as: "user-1")
        for number in 0..<600 {
            one.clock.advance(seconds: 1)
            try await signIn(limits, one.signIn("eve@example.com", device: "new-\(number)"), as: "user-2")
        }
        try await limits.removeEnded()
        try await one.fail(limits, one.signIn(), times: 5)
        #expect(await one.reached(limits, one.signIn()) == .lockout)
        #expect(await one.reached(limits, one.signIn(device: "phone-1")) == nil)
    }

    @Test("After twenty new devices in a day the next ones sign in and stay unknown, and known ones stay known")
    func daily() async throws {
        let limits = one.limits(try one.store())
        for number in 0..<21 { try await signIn(limits, one.signIn(device: "d-\(number)"), as: "user-1") }
        try await signIn(limits, one.signIn(device: "d-0"), as: "user-1")
        for (device, expected) in [("d-0", true), ("d-19", true), ("d-20", false)] {
            #expect(try await isKnown(device, limits) == expected, "\(device)")
        }
        // Neither another name of the account nor a proof of another device makes room.
        for (name, proven) in [("ada@example.com", "token"), ("+15550001", nil)] as [(String, String?)] {
            var call = one.signIn(name, device: "d-21")
            call.provenDevice = proven
            try await signIn(limits, call, as: "user-1")
            #expect(try await !isKnown("d-21", of: name, limits), "\(name)")
        }
        try await signIn(limits, one.signIn("eve@example.com", device: "d-1"), as: "user-2")
        #expect(try await isKnown("d-1", of: "eve@example.com", limits))

        one.clock.advance(seconds: 2 * 86_400)
        try await signIn(limits, one.signIn(device: "d-20"), as: "user-1")
        #expect(try await isKnown("d-20", limits))
    }

    @Test("A known device that gets ever new ids in its sign-ins makes no more of them known")
    func renamed() async throws {
        let limits = one.limits(try one.store())
        try await signIn(limits, one.signIn(device: "d-0"), as: "user-1")
        for number in 0..<25 {
            var call = one.signIn(device: "d-0")
            let admitted = try await limits.admit(call)
            #expect(admitted.isKnownDevice)
            call.device = "new-\(number)"
            await limits.succeeded(admitted, call, as: "user-1")
        }
        for (device, expected) in [("d-0", true), ("new-18", true), ("new-19", false), ("new-24", false)] {
            #expect(try await isKnown(device, limits) == expected, "\(device)")
        }
    }

    @Test("A device that is known takes no new one's place when it is proven otherwise")
    func provenAgain() async throws {
        let limits = one.limits(try one.store())
        var call = one.signIn(device: "d-0")
        call.provenDevice = "token"
        for _ in 0..<25 { try await signIn(limits, call, as: "user-1") }
        try await signIn(limits, one.signIn(device: "d-1"), as: "user-1")
        #expect(try await isKnown("d-1", limits))
    }

    @Test("Beyond the limit of keys ten times as many devices stay in the store, those that end last")
    func upkeep() async throws {
        let store = try one.store()
        for number in 0..<21 {
            try await store.remember(device: "d-\(number)", endsAt: one.clock.now / 1000 + Int64(number) + 1)
        }
        try await store.removeEnded(now: one.clock.now / 1000, limit: 2)
        for (device, isKnown) in [("d-0", false), ("d-1", true), ("d-20", true)] {
            let standing = try await store.standing(ofDevice: device, failures: [], now: one.clock.now / 1000)
            #expect(standing.knowsDevice == isKnown, "\(device)")
        }
    }
}
