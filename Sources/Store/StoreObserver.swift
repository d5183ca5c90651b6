/// Hears how long the reads and writes of a task take, waiting for others' included.
package struct StoreObserver: Sendable {
    @TaskLocal package static var current: StoreObserver?

    private let began: @Sendable () -> @Sendable (_ operation: String, _ failed: Bool) -> Void

    /// - Parameter began: called before each of them; what it returns is called after it, with `read` or `write`.
    package init(_ began: @escaping @Sendable () -> @Sendable (_ operation: String, _ failed: Bool) -> Void) {
        self.began = began
    }

    static func observing<Value: Sendable>(
        _ operation: String, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let current else { return try await body() }
        let ended = current.began()
        do {
            let value = try await body()
            ended(operation, false)
            return value
        } catch {
            ended(operation, true)
            throw error
        }
    }
}
