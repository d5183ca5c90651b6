import Foundation
import GatehouseClientTesting
import Testing

@testable import GatehouseClient

@Suite("The session in the Keychain")
struct KeychainStoreTests {
    private let keychain = KeychainInMemory()
    private let one = Data("one".utf8)
    private let two = Data("two".utf8)
    private let three = Data("three".utf8)

    private func store(
        group: String? = nil, accessibility: KeychainAccessibility = .afterFirstUnlock
    ) -> KeychainStore {
        KeychainStore(keychain, service: "com.example", accessGroup: group, accessibility: accessibility)
    }

    @Test("It keeps one item, with a digest of the data")
    func oneItem() throws {
        #expect(try store().read() == nil)
        #expect(try store().replace(nil, with: one))
        #expect(try store().replace(one, with: two))
        #expect(try store().read() == two)
        let item = try #require(keychain.stored.first)
        #expect(keychain.stored.count == 1)
        #expect(item.attributes.digest == KeychainStore.digest(two))
        #expect(item.accessibility == .afterFirstUnlock)
        #expect(try store().replace(two, with: nil))
        #expect(keychain.stored.isEmpty)
        #expect(try store().replace(nil, with: nil))
    }

    @Test("A write that replaces something else than what is stored changes nothing")
    func stale() throws {
        #expect(try store().replace(nil, with: one))
        #expect(try !store().replace(nil, with: two))
        #expect(try !store().replace(two, with: three))
        #expect(try !store().replace(two, with: nil))
        #expect(try store().read() == one)
    }

    @Test(
        "Another process that writes between the read and the write makes the write fail",
        arguments: [KeychainInMemory.Call.update, .delete, .add])
    func concurrentWriter(_ call: KeychainInMemory.Call) throws {
        let old = call == .add ? nil : one
        if old != nil { #expect(try store().replace(nil, with: one)) }
        let other = store()
        keychain.meanwhile = (call, { [two] () throws in #expect(try other.replace(old, with: two)) })
        #expect(try !store().replace(old, with: call == .delete ? nil : three))
        #expect(try store().read() == two)
    }

    @Test("Before the first unlock the session is locked, and nothing is written or deleted")
    func beforeFirstUnlock() throws {
        #expect(try store().replace(nil, with: one))
        keychain.lock = .beforeFirstUnlock
        #expect(throws: StoreFailure.locked) { try store().read() }
        #expect(throws: StoreFailure.locked) { try store().replace(one, with: two) }
        #expect(throws: StoreFailure.locked) { try store().replace(one, with: nil) }
        #expect(!keychain.calls.contains(.delete))
        #expect(!keychain.calls.contains(.update))
        keychain.lock = .locked
        #expect(try store().read() == one)
    }

    @Test("An item for an unlocked device is locked with it")
    func whenUnlocked() throws {
        let store = store(accessibility: .whenUnlocked)
        #expect(try store.replace(nil, with: one))
        keychain.lock = .locked
        #expect(throws: StoreFailure.locked) { try store.read() }
        keychain.lock = .unlocked
        #expect(try store.read() == one)
    }

    @Test("A missing entitlement is reported by its name, with the group, and deletes nothing")
    func missingEntitlement() throws {
        #expect(try store().replace(nil, with: one))
        let failure = try #require(throws: StoreFailure.self) { try store(group: "TEAM.shared").read() }
        guard case .failed(let reason) = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(["keychain-access-groups", "TEAM.shared", "-34018"].allSatisfy { reason.contains($0) })
        #expect(throws: StoreFailure.self) { try store(group: "TEAM.shared").replace(nil, with: two) }
        #expect(try store().read() == one)
        #expect(!keychain.calls.contains(.delete))
    }

    @Test("Any other status is reported, and deletes nothing")
    func otherStatus() throws {
        #expect(try store().replace(nil, with: one))
        keychain.failures = [(.copy, -25291)]
        #expect(throws: StoreFailure.failed("the Keychain returned error -25291")) { try store().read() }
        #expect(try store().read() == one)
    }

    @Test("Another accessibility applies with the next write")
    func accessibilityChanged() throws {
        #expect(try store(accessibility: .whenUnlocked).replace(nil, with: one))
        #expect(try store().read() == one)
        #expect(try store().replace(one, with: two))
        #expect(keychain.stored.map(\.accessibility) == [.afterFirstUnlock])
        #expect(try store().read() == two)
    }

    @Test("If the new item cannot be added, the old one is back")
    func accessibilityNotChanged() throws {
        #expect(try store(accessibility: .whenUnlocked).replace(nil, with: one))
        keychain.failures = [(.add, -25291)]
        #expect(throws: StoreFailure.self) { try store().replace(one, with: two) }
        #expect(try store().read() == one)
        #expect(try store().replace(one, with: two))
    }

    @Test("amplify-swift#2508: an access group that an update of the app adds finds the session, and moves it")
    func accessGroupAdded() throws {
        #expect(try store().replace(nil, with: one))
        keychain.groups = ["TEAM.app", "TEAM.shared"]
        #expect(try store(group: "TEAM.shared").read() == one)
        #expect(keychain.stored.map(\.attributes.accessGroup) == ["TEAM.shared"])
        #expect(try store(group: "TEAM.shared").replace(one, with: two))
        keychain.groups = ["TEAM.extension", "TEAM.shared"]
        #expect(try store(group: "TEAM.shared").read() == two)
    }

    @Test("A move that fails loses nothing, and is made later")
    func moveFails() throws {
        #expect(try store().replace(nil, with: one))
        keychain.groups = ["TEAM.app", "TEAM.shared"]
        keychain.failures = [(.add, -25291)]
        #expect(throws: StoreFailure.self) { try store(group: "TEAM.shared").read() }
        #expect(keychain.stored.map(\.attributes.accessGroup) == ["TEAM.app"])
        #expect(try store(group: "TEAM.shared").read() == one)
    }

    @Test("Two processes that move the session at once end with one")
    func moveTwice() throws {
        #expect(try store().replace(nil, with: one))
        keychain.groups = ["TEAM.app", "TEAM.shared"]
        let other = store(group: "TEAM.shared")
        keychain.meanwhile = (.add, { [one] () throws in #expect(try other.read() == one) })
        #expect(try store(group: "TEAM.shared").read() == one)
        #expect(keychain.stored.map(\.attributes.accessGroup) == ["TEAM.shared"])
    }

    @Test("A sign-out while the item is locked with the device is noted, and shows nobody after the unlock")
    func signOutLocked() async throws {
        let store = store(accessibility: .whenUnlocked)
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        keychain.lock = .locked
        await client.signOut()
        #expect(await scene.client().restore() == .locked)
        keychain.lock = .unlocked
        #expect(storedMembers(try store.read()) != nil)
        #expect(await scene.client().restore() == .signedOut(.requested))
        #expect(storedMembers(try store.read()) == nil)
        #expect(keychain.stored.map(\.attributes.service) == ["com.example"])
    }

    @Test("An item without a digest, which something else wrote, can be replaced")
    func withoutDigest() throws {
        let attributes = KeychainQuery(service: "com.example", account: "session", accessGroup: "TEAM.app")
        keychain.put(KeychainItem(attributes: attributes, accessibility: .afterFirstUnlock, data: one))
        #expect(try store().replace(one, with: two))
        #expect(try store().read() == two)
    }

    @Test("An app that ends the session with a new installation deletes what is stored, and nothing before the unlock")
    func installation() throws {
        #expect(try store().replace(nil, with: one))
        keychain.lock = .beforeFirstUnlock
        #expect(throws: StoreFailure.locked) { try store().replace(store().read(), with: nil) }
        keychain.lock = .unlocked
        #expect(try store().replace(store().read(), with: nil))
        #expect(keychain.stored.isEmpty)
    }
}
