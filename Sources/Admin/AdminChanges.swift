internal import Accounts
internal import Clocks
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
package import Proxy
internal import Settings
package import Telemetry
package import Upstream

/// The response to a change.
struct AdminAnswer: Sendable {
    var status: HTTPResponse.Status
    var body: JSON
    /// The refusal to send instead of `body`, in the common error format; nil if the change succeeded.
    var refusal: Refusal?
    /// The id of the call in logs.
    var requestID = AdminRequestID.make()
}

extension AdminAnswer {
    init(_ refusal: Refusal, requestID: String = AdminRequestID.make()) {
        self.init(status: refusal.response.status, body: .null, refusal: refusal, requestID: requestID)
    }
}

/// Performs the admin listener's changes, and records them in the application log and, if there is one, the audit log.
package struct AdminChanges: Sendable {
    let reloads: ReloadRequests
    let status: GatewayStatus
    let directory: LoopDirectory
    let drainedServers: DrainedServers
    let callsUnderWay: CallsInFlight
    let logs: GatewayLogs

    package init(
        reloads: ReloadRequests, status: GatewayStatus, directory: LoopDirectory, drainedServers: DrainedServers,
        callsUnderWay: CallsInFlight, logs: GatewayLogs
    ) {
        self.reloads = reloads
        self.status = status
        self.directory = directory
        self.drainedServers = drainedServers
        self.callsUnderWay = callsUnderWay
        self.logs = logs
    }

    func perform(_ change: AdminChange, body: [UInt8], for caller: AdminCaller) async -> AdminAnswer {
        switch change {
        case .reload: await reload(caller)
        case .logLevel: await setLogLevel(body, caller)
        case .drain(let begins): await drain(begins, caller)
        case .server(let begins, let upstream, let server): await drain(begins, server, of: upstream, caller)
        case .users(let call):
            await AdminUsers(status.userDirectory, logs.logger, caller) { [status] in
                try await status.confirm(within: $0)
            }.perform(call, body: body)
        }
    }

    /// Logs a call that the token does not permit. The token may be misconfigured or stolen.
    func report(_ caller: AdminCaller, lacks right: AdminRight) {
        logs.logger.warning(
            "an admin token may not do what was asked", metadata: caller.metadata(["right": "\(right.rawValue)"]))
    }

    private func reload(_ caller: AdminCaller) async -> AdminAnswer {
        let requestID = AdminRequestID.make()
        logs.logger.notice("reload asked for by an operator", metadata: caller.metadata())
        let outcome = await reloads.askAndWait()
        let code: HTTPResponse.Status
        switch outcome {
        case .applied(let changes, _):
            code = .ok
            let text = changes.map { "\($0.name) \($0.change)" }.joined(separator: "; ")
            await record(.configurationReloaded, "admin-reload", text, caller, requestID)
        case .refused: code = .unprocessableContent
        case .stopping: code = .conflict
        }
        return AdminAnswer(status: code, body: outcome.json, requestID: requestID)
    }

    private func setLogLevel(_ body: [UInt8], _ caller: AdminCaller) async -> AdminAnswer {
        let levels = Logger.Level.allCases.map(\.rawValue)
        let text = (try? JSON.parse(body))?["level"]?.stringValue
        guard let level = text.flatMap(Logger.Level.init(rawValue:)) else {
            let message = "send {\"level\": …} with one of \(levels.joined(separator: ", "))"
            return AdminAnswer(Refusal(.badRequest, message: message, reason: .request(.invalidParameter)))
        }
        let requestID = AdminRequestID.make()
        let before = logs.leastLevel
        logs.leastLevel = level
        logs.logger.notice(
            "log level changed", metadata: caller.metadata(["new_level": "\(level)", "was": "\(before)"]))
        await record(.logLevelChanged, "admin-log-level", "\(before) -> \(level)", caller, requestID)
        return AdminAnswer(
            status: .ok, body: ["level": .string(level.rawValue), "was": .string(before.rawValue)],
            requestID: requestID)
    }

    private func drain(_ begins: Bool, _ caller: AdminCaller) async -> AdminAnswer {
        let requestID = AdminRequestID.make()
        status.setAside(begins)
        logs.logger.notice(
            begins ? "drained by an operator: not ready" : "no longer drained by an operator",
            metadata: caller.metadata())
        await record(
            begins ? .gatewayDrained : .gatewayDrainEnded, begins ? "admin-drain" : "admin-end-drain", nil, caller,
            requestID)
        return AdminAnswer(
            status: .ok, body: ["draining": .bool(begins), "ready": .bool(status.readiness.isReady)],
            requestID: requestID)
    }

    private func drain(
        _ begins: Bool, _ server: String, of upstream: String, _ caller: AdminCaller
    ) async -> AdminAnswer {
        guard status.hasServer(server, of: upstream) else {
            return AdminAnswer(Refusal(.notFound, message: "there is no such server", reason: .request(.noRoute)))
        }
        let requestID = AdminRequestID.make()
        drainedServers.set(begins, server, of: upstream)
        await directory.refreshDrainedServers()
        logs.logger.notice(
            begins ? "server drained" : "server no longer drained",
            metadata: caller.metadata(["upstream": "\(upstream)", "server": "\(server)"]))
        await record(
            begins ? .serverDrained : .serverDrainEnded, begins ? "admin-drain-server" : "admin-end-server-drain",
            "\(upstream): \(server)", caller, requestID)
        return AdminAnswer(
            status: .ok,
            body: ["upstream": .string(upstream), "server": .string(server), "drained": .bool(begins)],
            requestID: requestID)
    }

    private func record(
        _ kind: AuditEventKind, _ operation: String, _ change: String?, _ caller: AdminCaller, _ requestID: String
    ) async {
        await status.audit?.record(
            AuditEvent(
                kind, time: WallClock.milliseconds(), requestID: requestID, address: caller.address,
                application: "admin", operation: operation, operatorName: caller.name, change: change))
    }
}
