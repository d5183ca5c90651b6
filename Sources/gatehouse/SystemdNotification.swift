internal import Admin
internal import FoundationEssentials
internal import Glibc

/// Notifies the service manager of the gateway's status (sd_notify(3)) by datagrams to the socket in `NOTIFY_SOCKET`.
/// Without a service manager nothing is sent.
struct SystemdNotification: Sendable {
    private let address: [UInt8]?

    init(environment: [String: String]) {
        address = environment["NOTIFY_SOCKET"].flatMap { name in
            var bytes = Array(name.utf8)
            // sockaddr_un has room for 107 bytes and the terminating zero.
            guard (2...107).contains(bytes.count), bytes[0] == UInt8(ascii: "/") || bytes[0] == UInt8(ascii: "@") else {
                return nil
            }
            // The name of an abstract socket begins with a zero.
            if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
            return bytes
        }
    }

    func ready(_ status: SystemdStatus) { send("READY=1\nSTATUS=\(status.text)") }

    func report(_ step: ReloadStep) {
        switch step {
        case .begun: reloading()
        case .applied: ready(.serving)
        case .refused(let errors): ready(.reloadFailed(errors))
        case .stopping: stopping()
        }
    }

    /// Reports a reload, which ``ready(_:)`` ends. Type=notify-reload also requires the time.
    private func reloading() {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        send("RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)\nSTATUS=reloading")
    }

    func stopping() { send("STOPPING=1\nSTATUS=draining") }

    /// Sends a message. If this fails, the message is lost; the time-outs of the service manager cover that case.
    private func send(_ message: String) {
        guard let address else { return }
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { path in unsafe path.copyBytes(from: address) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count)
        let bytes = Array(message.utf8)
        unsafe withUnsafePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = unsafe sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, length)
            }
        }
    }
}
