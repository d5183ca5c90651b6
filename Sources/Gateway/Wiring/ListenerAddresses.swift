internal import Admin
internal import Glibc
internal import Listener
internal import NIOCore
internal import Proxy
internal import Settings
internal import SettingsReader
internal import Sockets
internal import Store

/// Binds addresses for the gateway.
struct ListenerAddresses: Sendable {
    let group: SocketEventLoopGroup
    let directory: LoopDirectory

    /// Binds a single address, independently of others.
    ///
    /// - Throws: ``ReloadErrors`` with the address and its key path.
    func bind(
        _ listener: ListenerSettings, at keyPath: String, of settings: GatewaySettings,
        service: @escaping @Sendable (any EventLoop) -> any RequestService
    ) async throws(ReloadErrors) -> HTTPListener {
        do throws(StartupError) {
            return try await bind(listener, accepts: true, service: service)
        } catch {
            throw ReloadErrors([settings.error(of: keyPath, error.description)])
        }
    }

    /// Binds all new client addresses, or none. Clients can connect, but wait until the listener accepts.
    ///
    /// - Returns: the listeners by their index in the snapshot.
    /// - Throws: ``ReloadErrors`` with every address that cannot be bound.
    func bindNew(
        _ changes: ListenerChanges, of snapshot: ConfigurationSnapshot, accepts: Bool = false
    ) async throws(ReloadErrors) -> [Int: HTTPListener] {
        var bound: [Int: HTTPListener] = [:]
        var errors: [SettingsError] = []
        for (index, listener) in snapshot.listeners.clients.enumerated() where changes.known[index] == nil {
            do throws(StartupError) {
                bound[index] = try await bind(listener, accepts: accepts, service: gateway)
            } catch {
                errors.append(snapshot.settings.error(of: "listeners[\(index)].address", error.description))
            }
        }
        guard errors.isEmpty else {
            for listener in bound.values { await listener.drain(grace: .zero) }
            throw ReloadErrors(errors)
        }
        return bound
    }

    private func gateway(on eventLoop: any EventLoop) -> any RequestService {
        guard let gateway = directory.gateway(on: eventLoop) else {
            preconditionFailure("every loop of the group has a gateway")
        }
        return gateway
    }

    /// - Throws: ``StartupError`` with the address.
    private func bind(
        _ settings: ListenerSettings, accepts: Bool,
        service: @escaping @Sendable (any EventLoop) -> any RequestService
    ) async throws(StartupError) -> HTTPListener {
        do {
            return try await HTTPListener.bind(settings, group: group, accepts: accepts, service: service)
        } catch {
            throw StartupError(description: "cannot listen on \(settings.address): \(Self.reason(error))")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: unsafe String(cString: strerror(error.errnoCode))
        case is SocketAddressError.UnknownHost, SocketAddressError.unknown: "the host name cannot be resolved"
        default: "\(error)"
        }
    }
}

extension ListenerSettings {
    fileprivate var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
