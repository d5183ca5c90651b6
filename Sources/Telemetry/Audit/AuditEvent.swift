package import Pipeline

/// A change or an attempted change of an account, or an operator's change: a line of the audit log.
package struct AuditEvent: Sendable, Equatable {
    /// A client's device, as the client reports it.
    package struct Device: Sendable, Equatable {
        package var id: String?
        package var platform: String?
        package var appVersion: String?

        package init(id: String?, platform: String?, appVersion: String? = nil) {
            self.id = id
            self.platform = platform
            self.appVersion = appVersion
        }
    }

    package var kind: AuditEventKind
    /// Milliseconds since 1970.
    package var time: Int64
    package var requestID: String
    /// The user's `sub`; nil if unknown. Only a keyed hash of it is written.
    package var subject: String?
    /// The account's name as the client sent it. Only a keyed hash of it is written.
    package var account: String?
    package var device: Device?
    /// The client's address: the connection's peer, or the address that a trusted proxy reports.
    package var address: String
    /// The product and version of the app.
    package var application: String
    /// The name of the call.
    package var operation: String
    /// The name of the operator's token in the settings; nil if the call is not an operator's.
    package var operatorName: String?
    /// A description of an operator's change, without secrets.
    package var change: String?
    /// Apple's estimate of whether the account belongs to a real person: `unsupported`, `unknown` or `likely_real`.
    package var realUserStatus: String?
    /// The reason for the failure, from a closed list; nil if the call succeeded.
    package var reason: String?
    /// The trace of the request; nil if tracing is off.
    package var trace: TraceIDs?

    package init(
        _ kind: AuditEventKind, time: Int64, requestID: String, subject: String? = nil, account: String? = nil,
        device: Device? = nil, address: String, application: String, operation: String, operatorName: String? = nil,
        change: String? = nil, realUserStatus: String? = nil, reason: String? = nil, trace: TraceIDs? = nil
    ) {
        self.kind = kind
        self.time = time
        self.requestID = requestID
        self.subject = subject
        self.account = account
        self.device = device
        self.address = address
        self.application = application
        self.operation = operation
        self.operatorName = operatorName
        self.change = change
        self.realUserStatus = realUserStatus
        self.reason = reason
        self.trace = trace
    }
}
