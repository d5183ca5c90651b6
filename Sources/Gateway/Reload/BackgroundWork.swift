internal import Admin

/// The tasks of the background services, one for each service.
struct BackgroundWork {
    private struct Entry {
        /// Retained, so that no other object gets its identity meanwhile.
        let service: any BackgroundService
        let task: Task<Void, Never>
    }

    private var running: [ObjectIdentifier: Entry] = [:]
    /// A task that ends when all services cancelled so far have ended; nil if there were none.
    private(set) var ending: Task<Void, Never>?

    /// Starts the services that do not run yet, in the given order.
    mutating func begin(_ services: [any BackgroundService]) {
        for service in services where running[ObjectIdentifier(service)] == nil {
            running[ObjectIdentifier(service)] = Entry(service: service, task: Task { await service.run() })
        }
    }

    /// Cancels the services that are not among `services`.
    mutating func end(except services: [any BackgroundService]) {
        let remaining = Set(services.map { ObjectIdentifier($0) })
        end { !remaining.contains(ObjectIdentifier($0)) }
    }

    /// Cancels the services that satisfy a condition; by default all.
    ///
    /// - Returns: their tasks.
    @discardableResult
    mutating func end(where isDue: (any BackgroundService) -> Bool = { _ in true }) -> [Task<Void, Never>] {
        let due = running.filter { isDue($0.value.service) }
        for (id, entry) in due {
            running[id] = nil
            entry.task.cancel()
            ending = Task { [ending] in
                await entry.task.value
                await ending?.value
            }
        }
        return due.map(\.value.task)
    }
}
