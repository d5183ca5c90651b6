internal import Glibc
internal import Listener
internal import NIOCore
internal import NIOPosix

/// Binds addresses for the gateway.
struct ListenerAddresses: Sendable {
    let group: MultiThreadedEventLoopGroup
    let directory: LoopDirectory

    /// - Throws: ``WiringFault`` that names the address.
    func bind(
        _ settings: ListenerSettings, accepts: Bool = true,
        service: @escaping @Sendable (any EventLoop) -> any RequestService
    ) async throws -> HTTPListener {
        do {
            return try await HTTPListener.bind(settings, group: group, accepts: accepts, service: service)
        } catch let error as IOError {
            let reason = unsafe String(cString: strerror(error.errnoCode))
            throw WiringFault(description: "cannot listen on \(settings.address): \(reason)")
        } catch {
            throw WiringFault(description: "cannot listen on \(settings.address): \(error)")
        }
    }

    /// Binds an address for clients.
    ///
    /// - Throws: ``WiringFault`` that names the address.
    func bind(_ settings: ListenerSettings, accepts: Bool = true) async throws -> HTTPListener {
        try await bind(settings, accepts: accepts) { [directory] eventLoop in
            guard let gateway = directory.gateway(on: eventLoop) else {
                preconditionFailure("every loop of the group has a gateway")
            }
            return gateway
        }
    }

    /// Binds the addresses that are new, all or none. Clients can connect to them, and wait.
    ///
    /// - Returns: listeners by their place in `settings`.
    /// - Throws: ``WiringFault`` that names the address.
    func bindNew(_ changes: ListenerChanges, _ settings: [ListenerSettings]) async throws -> [Int: HTTPListener] {
        var bound: [Int: HTTPListener] = [:]
        do {
            for index in settings.indices where changes.kept[index] == nil {
                bound[index] = try await bind(settings[index], accepts: false)
            }
        } catch {
            for listener in bound.values { await listener.drain(grace: .zero) }
            throw error
        }
        return bound
    }
}

extension ListenerSettings {
    fileprivate var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
