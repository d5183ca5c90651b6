import Foundation
import Testing

@testable import GatehouseClient

/// A Keychain in memory, with the rules and status codes of the real one.
final class KeychainInMemory: KeychainAccess, @unchecked Sendable {
    enum Lock { case beforeFirstUnlock, locked, unlocked }
    enum Call: Equatable { case copy, add, update, delete }

    // Unchecked: all of this is only used under `mutex`, but for the fields that tests set between calls.
    private let mutex = NSRecursiveLock()
    private var items: [KeychainItem] = []
    private(set) var calls: [Call] = []
    /// The app's entitlement: the first group is where items go by default.
    var groups: [String]
    var lock = Lock.unlocked
    /// A status to return for each further call of a kind.
    var failures: [(call: Call, status: Int32)] = []
    /// Runs once, before the next call of a kind, as another process would.
    var meanwhile: (call: Call, body: () throws -> Void)?

    init(groups: [String] = ["TEAM.app"]) { self.groups = groups }

    var stored: [KeychainItem] { mutex.withLock { items } }

    /// Puts an item there, as another program would.
    func put(_ item: KeychainItem) { mutex.withLock { items.append(item) } }

    func copy(_ query: KeychainQuery) -> (status: Int32, item: KeychainItem?) {
        mutex.withLock {
            if let status = begin(.copy, query.accessGroup) { return (status, nil) }
            guard let item = items.first(where: { fits($0, query) }) else { return (KeychainStatus.itemNotFound, nil) }
            guard isReadable(item.accessibility) else { return (KeychainStatus.interactionNotAllowed, nil) }
            return (KeychainStatus.success, item)
        }
    }

    func add(_ item: KeychainItem) -> Int32 {
        mutex.withLock {
            if let status = begin(.add, item.attributes.accessGroup) { return status }
            var item = item
            item.attributes.accessGroup = item.attributes.accessGroup ?? groups.first
            guard isReadable(item.accessibility) else { return KeychainStatus.interactionNotAllowed }
            // The primary key: neither the digest nor the accessibility is part of it.
            var key = item.attributes
            key.digest = nil
            guard !items.contains(where: { fits($0, key) }) else { return KeychainStatus.duplicateItem }
            items.append(item)
            return KeychainStatus.success
        }
    }

    func update(_ query: KeychainQuery, data: Data, digest: Data) -> Int32 {
        mutex.withLock {
            if let status = begin(.update, query.accessGroup) { return status }
            let found = items.indices.filter { fits(items[$0], query) }
            guard !found.isEmpty else { return KeychainStatus.itemNotFound }
            guard found.allSatisfy({ isReadable(items[$0].accessibility) }) else {
                return KeychainStatus.interactionNotAllowed
            }
            for index in found { (items[index].data, items[index].attributes.digest) = (data, digest) }
            return KeychainStatus.success
        }
    }

    func delete(_ query: KeychainQuery) -> Int32 {
        mutex.withLock {
            if let status = begin(.delete, query.accessGroup) { return status }
            let count = items.count
            items.removeAll { fits($0, query) }
            return items.count == count ? KeychainStatus.itemNotFound : KeychainStatus.success
        }
    }

    private func begin(_ call: Call, _ group: String?) -> Int32? {
        if let meanwhile, meanwhile.call == call {
            self.meanwhile = nil
            do { try meanwhile.body() } catch { Issue.record(error) }
        }
        calls.append(call)
        if let index = failures.firstIndex(where: { $0.call == call }) { return failures.remove(at: index).status }
        if groups.isEmpty { return KeychainStatus.missingEntitlement }
        if let group, !groups.contains(group) { return KeychainStatus.missingEntitlement }
        return nil
    }

    private func fits(_ item: KeychainItem, _ query: KeychainQuery) -> Bool {
        let own = item.attributes
        return own.service == query.service && own.account == query.account && groups.contains(own.accessGroup ?? "")
            && (query.accessGroup == nil || query.accessGroup == own.accessGroup)
            && (query.digest == nil || query.digest == own.digest)
    }

    private func isReadable(_ accessibility: KeychainAccessibility?) -> Bool {
        switch lock {
        case .unlocked: true
        case .locked: accessibility != .whenUnlocked
        case .beforeFirstUnlock: false
        }
    }
}
