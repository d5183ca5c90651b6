package import Pipeline

/// Something that happened to an account or was tried on one, or an operator's change: a line of the audit log.
package struct AuditEvent: Sendable, Equatable {
    /// A client's device, by its own word.
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
    /// The user's `sub`, where it is known; only a keyed hash of it is written.
    package var subject: String?
    /// The account's name as the client gave it; only a keyed hash of it is written.
    package var account: String?
    package var device: Device?
    /// The client's address as the gateway trusts it.
    package var address: String
    /// Product and version of the app.
    package var application: String
    /// Which call it was.
    package var operation: String
    /// Of an operator's call, the name of the token in the settings.
    package var operatorName: String?
    /// The change that an operator made; no secret.
    package var change: String?
    /// Apple's guess whether there is a person behind the account: `unsupported`, `unknown` or `likely_real`.
    package var realUserStatus: String?
    /// Why it did not succeed, from a closed list; nil when it did.
    package var reason: String?
    /// The request's; nil where no spans are made.
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
