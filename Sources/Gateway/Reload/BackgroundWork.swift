internal import Accounts
internal import Admin
internal import Keys
internal import Proxy
internal import Sessions
internal import Settings
internal import Store
internal import Upstream

/// The tasks beside requests: key sets are kept fresh, keys are rotated, and servers' health is checked.
struct BackgroundWork {
    private var policies: [ObjectIdentifier: KeySetService.Policy] = [:]
    private var keySets: [ObjectIdentifier: Task<Void, Never>] = [:]
    /// Ends when the policies of all reloads so far are adopted: tasks begin in any order, policies hold in theirs.
    private var adopted: Task<Void, Never>?
    private var checks: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var assertionKeys: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var revocations: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var sessionKeys: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var sessions: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var upkeep: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var storeWatch: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var grants: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var conduct: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var tracing: [ObjectIdentifier: Task<Void, Never>] = [:]
    /// Ends when all that was cancelled has ended.
    private var ending: Task<Void, Never>?

    /// Ends what `snapshot` has no use for, and begins what it has and nobody does yet.
    mutating func follow(_ snapshot: ConfigurationSnapshot) {
        let services = snapshot.plan.keyServices
        let known = policies
        policies = [:]
        for (service, policy) in zip(services, snapshot.keySetPolicies) {
            policies[ObjectIdentifier(service)] = policy
        }
        // A task waits as the policy says that it began with.
        cancel(\.keySets) { [policies] id in policies[id] == nil || policies[id] != known[id] }
        for service in services where keySets[ObjectIdentifier(service)] == nil {
            let policy = policies[ObjectIdentifier(service)]
            let adoption = Task { [adopted] in
                await adopted?.value
                if let policy { await service.adopt(policy) }
            }
            adopted = adoption
            keySets[ObjectIdentifier(service)] = Task {
                await adoption.value
                await service.run()
            }
        }
        follow(snapshot.plan.assertionKeys, RotationSchedule.assertionKeys(snapshot.settings), \.assertionKeys)
        follow(snapshot.plan.sessionKeys?.keys, RotationSchedule.sessionKeys(snapshot.settings), \.sessionKeys)
        follow(snapshot.userSessions)
        follow(snapshot.grantValidation)
        if let service = snapshot.plan.revocations {
            service.adopt(maximumCount: snapshot.settings.limits.revocations)
            if revocations.isEmpty { revocations[ObjectIdentifier(service)] = Task { await service.run() } }
        }
        if let service = snapshot.upkeep, upkeep.isEmpty {
            upkeep[ObjectIdentifier(service)] = Task { await service.run() }
        }
        if let watch = snapshot.storeWatch, storeWatch.isEmpty {
            storeWatch[ObjectIdentifier(watch)] = Task { await watch.run() }
        }
        if let service = snapshot.conduct {
            service.adopt()
            if conduct.isEmpty { conduct[ObjectIdentifier(service.limits)] = Task { await service.run() } }
        }
        if let service = snapshot.plan.tracing, tracing[ObjectIdentifier(service)] == nil {
            tracing[ObjectIdentifier(service)] = Task { await service.run() }
        }
        cancel(\.checks) { id in !snapshot.checks.contains { ObjectIdentifier($0) == id } }
        for check in snapshot.checks where checks[ObjectIdentifier(check)] == nil {
            checks[ObjectIdentifier(check)] = Task { await check.run() }
        }
    }

    private mutating func follow(
        _ keys: AssertionKeyService?, _ schedule: RotationSchedule?,
        _ tasks: WritableKeyPath<Self, [ObjectIdentifier: Task<Void, Never>]>
    ) {
        let wanted = keys.map { ObjectIdentifier($0) }
        cancel(tasks) { $0 != wanted }
        guard let keys, let schedule else { return }
        keys.adopt(schedule)
        if self[keyPath: tasks].isEmpty { self[keyPath: tasks][ObjectIdentifier(keys)] = Task { await keys.run() } }
    }

    private mutating func follow(_ service: SessionService?) {
        let wanted = service.map { ObjectIdentifier($0.ends) }
        cancel(\.sessions) { $0 != wanted }
        guard let service, sessions.isEmpty else { return }
        sessions[ObjectIdentifier(service.ends)] = Task { await service.run() }
    }

    /// Each has its own settings: the one before ends.
    private mutating func follow(_ validation: AppleGrantValidation?) {
        cancel(\.grants)
        guard let validation else { return }
        grants[ObjectIdentifier(validation)] = Task { await validation.run() }
    }

    private mutating func cancel(
        _ tasks: WritableKeyPath<Self, [ObjectIdentifier: Task<Void, Never>]>,
        where isDue: (ObjectIdentifier) -> Bool = { _ in true }
    ) {
        for (id, task) in self[keyPath: tasks] where isDue(id) {
            task.cancel()
            self[keyPath: tasks][id] = nil
            ending = Task { [ending] in
                await task.value
                await ending?.value
            }
        }
    }

    /// Has what was traced sent for the last time, unless it is by `service`. Before that, loops have handed it over.
    mutating func endTracing(except service: TraceService?) {
        let wanted = service.map { ObjectIdentifier($0) }
        cancel(\.tracing) { $0 != wanted }
    }

    /// Has what was traced sent for the last time.
    ///
    /// - Returns: what ends when it is sent, or given up.
    mutating func stopTracing() -> [Task<Void, Never>] {
        let last = Array(tracing.values)
        tracing = [:]
        for task in last { task.cancel() }
        return last
    }

    /// Cancels all of it.
    ///
    /// - Returns: what ends when nothing is left that goes on.
    mutating func stop() -> Task<Void, Never>? {
        cancel(\.keySets)
        cancel(\.assertionKeys)
        cancel(\.sessionKeys)
        cancel(\.sessions)
        cancel(\.grants)
        cancel(\.revocations)
        cancel(\.upkeep)
        cancel(\.storeWatch)
        cancel(\.conduct)
        cancel(\.checks)
        return ending
    }
}
