internal import Dispatch
internal import Glibc
internal import Locking

/// DNS lookups of the servers' names, outside the loop: libpq's own would block it.
enum PostgresAddresses {
    /// The callers that wait for each name. A name has one lookup at a time, so that an unresponsive resolver blocks
    /// one thread for each configured name.
    private static let waiting = Locked<[String: [PostgresWait<[String]>]]>([:])

    /// - Throws: ``PostgresError``
    static func find(
        _ name: String, until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [String] {
        if isAddress(name) { return [name] }
        return try await PostgresWait.run { wait in
            _ = PostgresLoop.shared.schedule(at: deadline) { wait.end(.failure(.deadline)) }
            let isFirst = waiting.withLock { waiting in
                waiting[name, default: []].append(wait)
                return waiting[name]?.count == 1
            }
            guard isFirst else { return }
            DispatchQueue.global().async {
                let result = lookUp(name)
                for each in waiting.withLock({ $0.removeValue(forKey: name) }) ?? [] { each.end(result) }
            }
        }
    }

    private static func isAddress(_ name: String) -> Bool {
        var room = in6_addr()
        return inet_pton(AF_INET, name, &room) == 1 || inet_pton(AF_INET6, name, &room) == 1
    }

    /// Blocks until the resolver responds.
    private static func lookUp(_ name: String) -> Result<[String], PostgresError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            let reason = String(cString: gai_strerror(code))
            return .failure(PostgresError(.connection, "\(name): no address: \(reason)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let code = getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            if code == 0 { addresses.append(String(decoding: bytes, as: UTF8.self)) }
            next = entry.ai_next
        }
        return addresses.isEmpty ? .failure(PostgresError(.connection, "\(name): no address")) : .success(addresses)
    }
}
