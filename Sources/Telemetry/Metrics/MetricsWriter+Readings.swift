internal import Pipeline

/// The readings that are not sums over event loops.
extension MetricsWriter {
    mutating func write(_ lookups: MetricsReadings.NameLookups) {
        family(
            .nameLookups, ["found", "absent", "failed"],
            [lookups.found, lookups.absent, lookups.failed].map(Int64.init))
    }

    mutating func write(_ keySets: [MetricsReadings.KeySet]) {
        let issuers = keySets.map(\.issuer)
        family(.keySetRefreshes, issuers, keySets.map { Int64($0.refreshes) })
        family(.keySetFailures, issuers, keySets.map { Int64($0.failures) })
        begin(.keySetAge)
        for keySet in keySets {
            if let age = keySet.ageSeconds { sample(.keySetAge, [keySet.issuer], String(age)) }
        }
        begin(.keySetRemaining)
        for keySet in keySets {
            if let left = keySet.endsInSeconds { sample(.keySetRemaining, [keySet.issuer], String(left)) }
        }
    }

    mutating func write(_ calls: [ApplicationTally.Calls]) {
        begin(.directCognitoApplications)
        for each in calls {
            sample(.directCognitoApplications, [each.application, each.operation], String(each.count))
        }
    }

    /// Of several certificates for one name, such as with different key types, the one that expires first is reported.
    mutating func write(_ certificates: [MetricsReadings.Certificate]) {
        guard !certificates.isEmpty else { return }
        begin(.certificateExpiry)
        let ends = Dictionary(certificates.map { ([$0.listener, $0.name], $0.expiresAt) }, uniquingKeysWith: min)
        for (labels, end) in ends.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            sample(.certificateExpiry, labels, String(end))
        }
    }

    mutating func write(_ acme: MetricsReadings.ACME) {
        begin(.acmeOrders)
        sample(.acmeOrders, ["success"], String(acme.obtained))
        sample(.acmeOrders, ["failure"], String(acme.failed))
        begin(.acmeFailures)
        for each in acme.names { sample(.acmeFailures, [each.name], String(each.failures)) }
        begin(.acmeObtained)
        for each in acme.names { sample(.acmeObtained, [each.name], String(each.obtainedAt)) }
    }

    mutating func write(_ revocations: MetricsReadings.Revocations) {
        single(.revocations, Int64(revocations.entries))
        single(.revocationsLimit, Int64(revocations.limit))
        single(.revocationFailures, Int64(revocations.failures))
        single(.supersededSessions, Int64(revocations.superseded))
        guard let shared = revocations.shared else { return }
        single(.revocationListAge, shared.age)
        single(.revocationListTooOld, shared.isTooOld ? 1 : 0)
        single(.revocationListNotified, shared.isNotified ? 1 : 0)
    }

    mutating func write(_ database: MetricsReadings.Database) {
        single(.storeConnectionsOpen, Int64(database.open))
        single(.storeConnectionsIdle, Int64(database.idle))
        single(.storeConnectionsMade, Int64(database.made))
        single(.storeConnectionsFailed, Int64(database.failed))
        single(.storeCallersWaiting, Int64(database.waiting))
        begin(.storeStatementDuration)
        histogram(
            .storeStatementDuration, ["postgresql"], limits: database.limits.map { String($0) },
            counts: database.durations.map(Int64.init), sum: String(database.total))
        family(.storeErrors, database.errors.map(\.cause), database.errors.map { Int64($0.count) })
    }

    mutating func write(replicas: [(state: String, count: Int)]) {
        guard !replicas.isEmpty else { return }
        family(.replicas, replicas.map(\.state), replicas.map { Int64($0.count) })
    }

    mutating func write(_ accountServices: MetricsReadings.Accounts) {
        begin(.accountCalls)
        for (key, count) in accountServices.calls {
            sample(.accountCalls, [key.operation, key.result, key.reason], String(count))
        }
        begin(.signIns)
        for reading in accountServices.signIns {
            sample(.signIns, [reading.method.rawValue, reading.result.rawValue], String(reading.count))
        }
        begin(.sessionLength)
        for length in accountServices.sessionLengths {
            histogram(
                .sessionLength, [length.end.rawValue], limits: SessionLengths.limits.map { String($0) },
                counts: length.counts, sum: String(length.sum))
        }
        family(
            .userAttributeReads, accountServices.userAttributes.map(\.result.rawValue),
            accountServices.userAttributes.map(\.count))
        family(
            .accountLimits, accountServices.refusals.map(\.cause), accountServices.refusals.map { Int64($0.count) })
        single(.accountLockouts, Int64(accountServices.lockouts))
        single(.outboxWaiting, Int64(accountServices.outboxWaiting))
        single(.outboxDelivered, Int64(accountServices.outboxDelivered))
        single(.outboxFailures, Int64(accountServices.outboxFailures))
        single(.outboxLost, Int64(accountServices.outboxLost))
    }

    mutating func write(_ reloads: MetricsReadings.Reloads) {
        family(.configReloads, ["success", "failure"], [Int64(reloads.succeeded), Int64(reloads.failed)])
        single(.configLastReloadSuccessful, reloads.lastFailed ? 0 : 1)
        single(.configLastSuccess, reloads.lastSuccess)
        family(.fileChanges, ["success", "failure"], [Int64(reloads.files.used), Int64(reloads.files.refused)])
        single(.filesKeptOut, Int64(reloads.files.keptOut))
    }

    mutating func write(_ process: ProcessReadings) {
        single(.processCPU, Self.seconds(microseconds: process.cpuTime))
        single(.processResidentMemory, process.residentBytes)
        single(.processAnonymousMemory, process.anonymousBytes)
        single(.processVirtualMemory, process.virtualBytes)
        single(.processOpenDescriptors, process.openDescriptors)
        single(.processMaximumDescriptors, process.maximumDescriptors)
        single(.processStart, process.startedAt)
    }
}
