package import Postgres

extension PostgresInspection {
    /// Whether notifications arrive. A pooler in transaction mode accepts LISTEN but delivers nothing, so a test
    /// message is sent from another connection.
    ///
    /// - Parameter patience: the longest wait for the message.
    package static func canListen(_ settings: PostgresSettings, patience: Duration = .seconds(1)) async -> Bool {
        do {
            let channel = "gatehouse_check_" + String(UInt64.random(in: .min ... .max), radix: 36)
            let listening = try await PostgresConnection.connect(settings)
            defer { listening.close() }
            try await listening.listen(channel)
            let sending = try await PostgresConnection.connect(settings)
            defer { sending.close() }
            _ = try await sending.query("SELECT pg_notify($1, '')", [.text(channel)])
            return await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for await message in listening.notifications where message.channel == channel { return true }
                    return false
                }
                group.addTask {
                    try? await Task.sleep(for: patience)
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
        } catch {
            return false
        }
    }
}
