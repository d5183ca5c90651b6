internal import CPostgres
internal import Glibc

/// A libpq connection on the loop's thread, with its current operation and deadline.
///
/// A connection with an overdue response is closed and never reused: the response would be taken for that of the next
/// statement.
final class PostgresHandle {
    typealias Outcome = Result<PostgresRows, PostgresError>

    private struct Operation {
        var isConnecting: Bool
        var timer: PostgresTimers.ID
        /// The approximate number of bytes that libpq has read for it.
        var received = 0
        var outcome: Outcome?
        var completion: (Outcome) -> Void
    }

    private let pq: gatehouse_libpq
    private let loop = PostgresLoop.shared
    private let responseSize: Int
    /// A `PGconn`; nil once closed.
    private var connection: OpaquePointer?
    private var descriptor: CInt = -1
    private var operation: Operation?

    /// Called for each notification.
    var notified: (PostgresNotification) -> Void = { _ in }
    /// Called once when the connection has ended other than by ``close()``, after its current operation has ended.
    var ended: (PostgresError) -> Void = { _ in }

    init(_ library: PostgresLibrary, responseSize: Int) {
        pq = library.functions
        self.responseSize = responseSize
    }

    deinit { if let connection { pq.PQfinish(connection) } }

    /// Whether a statement can be sent, outside of any transaction.
    var isIdle: Bool {
        guard let connection, operation == nil else { return false }
        return pq.PQtransactionStatus(connection) == PQTRANS_IDLE && pq.PQstatus(connection) == CONNECTION_OK
    }

    // MARK: Connecting

    func connect(
        _ parameters: [(name: String, value: String)], deadline: ContinuousClock.Instant,
        _ completion: @escaping (Outcome) -> Void
    ) {
        begin(isConnecting: true, deadline, completion)
        connection = start(parameters)
        guard let connection, pq.PQstatus(connection) != CONNECTION_BAD else {
            return end(PostgresError(ofConnecting: errorText))
        }
        // By default libpq writes notices to the standard error stream.
        _ = pq.PQsetNoticeReceiver(connection, { _, _ in }, nil)
        // Verbose messages contain the SQLSTATE, which libpq provides in no other way for a failed connection attempt.
        _ = pq.PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        watch(reads: false, writes: true)
    }

    private func start(_ parameters: [(name: String, value: String)]) -> OpaquePointer? {
        var copies: [UnsafeMutablePointer<CChar>] = []
        func copy(_ text: String) -> UnsafePointer<CChar>? {
            guard let copy = strdup(text) else { return nil }
            copies.append(copy)
            return UnsafePointer(copy)
        }
        defer {
            for copy in copies {
                explicit_bzero(copy, strlen(copy))
                free(copy)
            }
        }
        let names = parameters.map { copy($0.name) } + [nil]
        let values = parameters.map { copy($0.value) } + [nil]
        return pq.PQconnectStartParams(names, values, 0)
    }

    private func goOnConnecting() {
        switch pq.PQconnectPoll(connection) {
        case PGRES_POLLING_READING: watch(reads: true, writes: false)
        case PGRES_POLLING_WRITING: watch(reads: false, writes: true)
        case PGRES_POLLING_OK:
            guard pq.PQsetnonblocking(connection, 1) == 0 else {
                return end(PostgresError(.connection, "the connection cannot be made non-blocking"))
            }
            watch(reads: true, writes: false)
            operation?.outcome = .success(PostgresRows(columns: [], rows: [], count: 0))
            finish()
        default: end(PostgresError(ofConnecting: errorText))
        }
    }

    // MARK: Statements

    /// Sends one unnamed statement, since a pooler may use another server for each one.
    func query(
        _ sql: String, _ values: [PostgresValue], deadline: ContinuousClock.Instant,
        _ completion: @escaping (Outcome) -> Void
    ) {
        guard connection != nil else { return completion(.failure(.closed)) }
        guard operation == nil else {
            return completion(.failure(PostgresError(.unusable, "another statement is under way on the connection")))
        }
        begin(isConnecting: false, deadline, completion)
        guard send(sql, values) == 1 else { return end(PostgresError(.connection, errorText)) }
        flush()
    }

    private func send(_ sql: String, _ values: [PostgresValue]) -> CInt {
        let encoded = values.map(\.encoded)
        // One extra byte: an empty value needs an address, since a null pointer means NULL.
        let bytes = encoded.compactMap(\.self).flatMap(\.self) + [0]
        return bytes.withUnsafeBytes { room in
            var offset = 0
            let pointers = encoded.map { value -> UnsafePointer<CChar>? in
                guard let value else { return nil }
                defer { offset += value.count }
                return room.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
            }
            return pq.PQsendQueryParams(
                connection, sql, CInt(values.count), values.map(\.typeID), pointers,
                encoded.map { CInt($0?.count ?? 0) }, values.map { _ in 1 }, 1)
        }
    }

    private func flush() {
        let left = pq.PQflush(connection)
        guard left >= 0 else { return end(PostgresError(.connection, errorText)) }
        watch(reads: true, writes: left > 0)
    }

    // MARK: Readiness

    private func watch(reads: Bool, writes: Bool) {
        let socket = pq.PQsocket(connection)
        if descriptor >= 0, descriptor != socket { loop.unwatch(descriptor) }
        descriptor = socket
        guard socket >= 0 else { return end(PostgresError(.connection, errorText)) }
        loop.watch(socket, reads: reads, writes: writes) { [weak self] in self?.ready() }
    }

    private func ready() {
        guard connection != nil else { return }
        if operation?.isConnecting == true { return goOnConnecting() }
        let waiting = gatehouse_waiting_bytes(descriptor)
        let isAlive = pq.PQconsumeInput(connection) == 1
        // An underestimate if more data arrives meanwhile: the limit protects memory and need not be exact.
        operation?.received += Int(max(0, waiting - gatehouse_waiting_bytes(descriptor)))
        if let operation, operation.received > responseSize {
            return end(PostgresError(.tooLarge, "a response has more than \(responseSize) bytes"))
        }
        takeResults(isAlive: isAlive)
        takeNotifications()
        guard let connection else { return }
        guard isAlive, pq.PQstatus(connection) == CONNECTION_OK else {
            return end(PostgresError(.connection, errorText))
        }
        if operation != nil { flush() }
    }

    private func takeResults(isAlive: Bool) {
        // For a connection that has ended, libpq returns the server's last message without waiting.
        let hasEnded = !isAlive && pq.PQsocket(connection) < 0
        while operation != nil, hasEnded || pq.PQisBusy(connection) == 0 {
            guard let result = pq.PQgetResult(connection) else { return finish() }
            defer { pq.PQclear(result) }
            // The server's own error may be followed by libpq's error that the connection was lost.
            if case .failure = operation?.outcome {
            } else {
                operation?.outcome = PostgresResult(pq, result, hasEnded: hasEnded).outcome
            }
            guard [PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH].contains(pq.PQresultStatus(result)) else { continue }
            return end(PostgresError(.unusable, "COPY is not supported"))
        }
    }

    private func takeNotifications() {
        while connection != nil, let found = pq.PQnotifies(connection) {
            let message = PostgresNotification(
                channel: String(cString: found.pointee.relname), payload: String(cString: found.pointee.extra))
            pq.PQfreemem(found)
            notified(message)
        }
    }

    // MARK: Ends

    private func begin(
        isConnecting: Bool, _ deadline: ContinuousClock.Instant, _ completion: @escaping (Outcome) -> Void
    ) {
        let timer = loop.schedule(at: deadline) { [weak self] in self?.end(.deadline) }
        operation = Operation(isConnecting: isConnecting, timer: timer, completion: completion)
    }

    /// Completes the operation with its outcome. Disconnects from a server that accepts no writes.
    private func finish() {
        guard let operation else { return }
        let outcome = operation.outcome ?? .failure(PostgresError(.connection, "the server gave no result"))
        if case .failure(let error) = outcome, error.condition == .readOnly { release() }
        complete(outcome)
        if connection == nil { ended(PostgresError(.connection, "the server takes no writes", sqlState: "25006")) }
    }

    /// Ends an unusable connection.
    private func end(_ error: PostgresError) {
        release()
        complete(.failure(error))
        ended(error)
        ended = { _ in }
    }

    /// Closes the connection and fails the current operation.
    func close() {
        ended = { _ in }
        end(.closed)
    }

    private func complete(_ outcome: Outcome) {
        guard let operation else { return }
        self.operation = nil
        loop.cancel(operation.timer)
        operation.completion(outcome)
    }

    private func release() {
        guard let connection else { return }
        if descriptor >= 0 { loop.unwatch(descriptor) }
        self.connection = nil
        pq.PQfinish(connection)
    }

    /// libpq's last error message for the connection.
    private var errorText: String {
        guard let text = pq.PQerrorMessage(connection) else { return "libpq has no memory" }
        return String(cString: text).split(separator: "\n").first.map(String.init) ?? "the connection was lost"
    }
}
