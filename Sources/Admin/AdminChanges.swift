internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
package import Proxy
package import Telemetry
package import Upstream

/// The response to a change.
struct AdminAnswer: Sendable {
    var status: HTTPResponse.Status
    var body: JSON
    /// The refusal to send instead, in the form of all refusals.
    var refusal: Refusal?
    /// By which logs know of it.
    var requestID = AdminRequestID.make()
}

extension AdminAnswer {
    init(_ refusal: Refusal, requestID: String = AdminRequestID.make()) {
        self.init(status: refusal.response.status, body: .null, refusal: refusal, requestID: requestID)
    }
}

/// Carries out what is asked of the admin listener, and says so in the log.
package struct AdminChanges: Sendable {
    let reloads: ReloadRequests
    let status: GatewayStatus
    let directory: LoopDirectory
    let drainedServers: DrainedServers
    let logs: GatewayLogs

    package init(
        reloads: ReloadRequests, status: GatewayStatus, directory: LoopDirectory, drainedServers: DrainedServers,
        logs: GatewayLogs
    ) {
        self.reloads = reloads
        self.status = status
        self.directory = directory
        self.drainedServers = drainedServers
        self.logs = logs
    }

    /// - Parameter peer: whose address it is.
    func perform(_ change: AdminChange, body: [UInt8], peer: String) async -> AdminAnswer {
        switch change {
        case .reload: await reload()
        case .logLevel: setLogLevel(body)
        case .drain(let begins): drain(begins)
        case .server(let begins, let upstream, let server): await drain(begins, server, of: upstream)
        case .users(let call):
            await AdminUsers(status.userDirectory, logs.logger, peer: peer) { [status] in
                try await status.confirm(within: $0)
            }.perform(call, body: body)
        }
    }

    private func reload() async -> AdminAnswer {
        let outcome = await reloads.askAndWait()
        let code: HTTPResponse.Status =
            switch outcome {
            case .applied: .ok
            case .refused: .unprocessableContent
            case .stopping: .conflict
            }
        return AdminAnswer(status: code, body: outcome.json)
    }

    private func setLogLevel(_ body: [UInt8]) -> AdminAnswer {
        let levels = Logger.Level.allCases.map(\.rawValue)
        let text = (try? JSON.parse(body))?["level"]?.stringValue
        guard let level = text.flatMap(Logger.Level.init(rawValue:)) else {
            let message = "send {\"level\": …} with one of \(levels.joined(separator: ", "))"
            return AdminAnswer(Refusal(.badRequest, message: message, reason: .request(.invalidParameter)))
        }
        let before = logs.leastLevel
        logs.leastLevel = level
        logs.logger.notice("log level changed", metadata: ["level": "\(level)", "was": "\(before)"])
        return AdminAnswer(
            status: .ok, body: ["level": .string(level.rawValue), "was": .string(before.rawValue)])
    }

    private func drain(_ begins: Bool) -> AdminAnswer {
        status.setAside(begins)
        logs.logger.notice(begins ? "drained by an operator: not ready" : "no longer drained by an operator")
        return AdminAnswer(status: .ok, body: ["draining": .bool(begins), "ready": .bool(status.readiness.isReady)])
    }

    private func drain(_ begins: Bool, _ server: String, of upstream: String) async -> AdminAnswer {
        guard status.hasServer(server, of: upstream) else {
            return AdminAnswer(Refusal(.notFound, message: "there is no such server", reason: .request(.noRoute)))
        }
        drainedServers.set(begins, server, of: upstream)
        await directory.refreshDrainedServers()
        logs.logger.notice(
            begins ? "server drained" : "server no longer drained",
            metadata: ["upstream": "\(upstream)", "server": "\(server)"])
        return AdminAnswer(
            status: .ok,
            body: ["upstream": .string(upstream), "server": .string(server), "drained": .bool(begins)])
    }
}
