extension Metric {
    package var kind: Kind { declaration.kind }
    /// The names of the labels, in the order of their values in a sample; without a histogram's `le`.
    package var labels: [String] { declaration.labels }
    /// The text of the HELP line.
    package var help: String { declaration.help }

    private struct Declaration {
        let kind: Kind
        let labels: [String]
        let help: String

        static func counter(_ labels: String..., help: String) -> Self {
            Self(kind: .counter, labels: labels, help: help)
        }

        static func gauge(_ labels: String..., help: String) -> Self {
            Self(kind: .gauge, labels: labels, help: help)
        }

        static func histogram(_ labels: String..., help: String) -> Self {
            Self(kind: .histogram, labels: labels, help: help)
        }
    }

    private var declaration: Declaration {
        switch self {
        case .requests:
            .counter("route", "method", "status", help: "Requests by route and by class of method and status.")
        case .requestsInFlight: .gauge(help: "Requests whose response has not ended.")
        case .responsesUnsent: .gauge(help: "Complete responses that wait for their clients to receive them.")
        case .requestDuration:
            .histogram("route", help: "Time from a request's first byte to its response's last byte.")
        case .denials: .counter("reason", help: "Refused requests by reason code.")
        case .directCognitoCalls: .counter("operation", help: "Calls that apps sent to Cognito itself.")
        case .tokenCache: .counter("result", help: "Lookups of tokens among the verified ones.")

        case .connections: .counter(help: "Accepted client connections.")
        case .connectionsOpen: .gauge(help: "Open client connections.")
        case .connectionsRefused: .counter("reason", help: "Client connections that were refused.")
        case .http2ConnectionsFailed:
            .counter("error", help: "HTTP/2 connections closed for a client's error, by the error of the GOAWAY.")
        case .connectionsEvicted: .counter(help: "Idle client connections that were closed in favour of new ones.")
        case .http2Streams: .counter(help: "Opened HTTP/2 streams.")
        case .http2StreamsOpen: .gauge(help: "Open HTTP/2 streams.")
        case .webSockets: .counter(help: "Requests that became WebSockets.")
        case .webSocketsOpen: .gauge(help: "Open WebSockets.")
        case .bytesReceived: .counter(help: "Body bytes received from clients.")
        case .bytesSent: .counter(help: "Body bytes sent to clients.")

        case .upstreamConnectionsOpened: .counter("upstream", help: "Connections opened to an upstream.")
        case .upstreamConnectionsReused: .counter("upstream", help: "Requests that reused a pooled connection.")
        case .upstreamFailures: .counter("upstream", help: "Requests that their upstream failed.")
        case .upstreamRetries: .counter("upstream", help: "Requests that were sent again.")
        case .upstreamDuration:
            .histogram("route", help: "Time from a request's start at its upstream to the response's last byte.")
        case .gatewayDuration:
            .histogram("route", help: "Request time without the upstream's or the identity provider's part.")

        case .serverRequests: .counter("upstream", "server", help: "Requests sent to a server.")
        case .serverFailures: .counter("upstream", "server", help: "Requests that a server failed.")
        case .serverEjections: .counter("upstream", "server", help: "Ejections of a server by an event loop.")
        case .serverEjectionsWithheld:
            .counter("upstream", "server", help: "Ejections that were due but withheld for want of other servers.")
        case .serverUnsolicited:
            .counter("upstream", "server", help: "Connections closed because a server sent unrequested bytes.")
        case .serverRequestsInFlight: .gauge("upstream", "server", help: "Requests in flight at a server.")
        case .serverConnectionsIdle: .gauge("upstream", "server", help: "Idle pooled connections to a server.")
        case .serverUp: .gauge("upstream", "server", help: "1 if every event loop sends requests to a server.")
        case .serverDrained: .gauge("upstream", "server", help: "1 if an operator drains a server.")
        case .serverResponses:
            .counter("upstream", "server", "status", help: "Responses by the server that had the request last.")
        case .serverDuration:
            .histogram(
                "upstream", "server", help: "Upstream's part of requests by the server that had the request last.")

        case .eventLoopStalls:
            .counter(help: "Times that an event loop served none of its connections for more than 50 ms.")
        case .eventLoopStalled: .counter(help: "Total length of these stalls.")
        case .nameLookups: .counter("result", help: "Lookups of the host names of servers and identity providers.")

        case .keySetRefreshes: .counter("issuer", help: "Fetches of key sets.")
        case .keySetFailures: .counter("issuer", help: "Fetches of key sets that failed.")
        case .keySetAge: .gauge("issuer", help: "Time since the key set in use was fetched.")
        case .keySetRemaining: .gauge("issuer", help: "Time that the key set in use has left if no fetch succeeds.")
        case .certificateExpiry: .gauge("listener", "certificate", help: "Expiry of a listener's certificate.")
        case .acmeOrders: .counter("result", help: "Attempts to obtain a certificate by ACME.")
        case .acmeFailures: .gauge("certificate", help: "Failed attempts at a certificate since the last success.")
        case .acmeObtained: .gauge("certificate", help: "When a certificate was obtained by ACME.")

        case .directCognitoApplications:
            .counter("application", "operation", help: "Calls that apps sent to Cognito itself, by app.")
        case .accountCalls: .counter("operation", "result", "reason", help: "Account calls by operation and result.")
        case .signIns: .counter("method", "result", help: "Steps of sign-ins by method and result.")
        case .sessionLength: .histogram("end", help: "Session lengths, by what ended the session.")
        case .userAttributeReads: .counter("result", help: "Reads of users' attributes for backends.")
        case .accountLimits: .counter("cause", help: "Account calls refused by a limit or a lock.")
        case .accountLockouts: .counter(help: "Accounts or known devices locked by failed sign-ins.")
        case .outboxWaiting: .gauge(help: "Messages to backends that wait for delivery.")
        case .outboxDelivered: .counter(help: "Delivered messages to backends.")
        case .outboxFailures: .counter(help: "Failed delivery attempts.")
        case .outboxLost: .counter(help: "Messages to backends that were given up or not accepted.")

        case .revocations: .gauge(help: "Stored revocations.")
        case .revocationsLimit: .gauge(help: "Most revocations that can be stored.")
        case .revocationFailures: .counter(help: "Revocations that were refused or not stored.")
        case .supersededSessions: .gauge(help: "Sessions whose replaced tokens are refused.")
        case .revocationListAge: .gauge(help: "Time since the revocation list was last known to be complete.")
        case .revocationListTooOld: .gauge(help: "1 if no token is accepted because the revocation list is too old.")
        case .revocationListNotified: .gauge(help: "1 if the database announces revocations, 0 if they are asked for.")
        case .assertionKeyAge: .gauge(help: "Time since the current assertion key began to sign.")
        case .keysReadable: .gauge("purpose", help: "1 if the gateway's stored keys could be read last.")

        case .configReloads: .counter("result", help: "Configuration reloads.")
        case .configLastReloadSuccessful: .gauge(help: "1 if the last reload succeeded, or there was none.")
        case .configLastSuccess: .gauge(help: "Time at which the configuration in use took effect.")
        case .fileChanges: .counter("result", help: "Changes of files that the settings name.")
        case .filesKeptOut: .gauge(help: "Changed files that are not used because they have errors.")

        case .logLinesLost: .counter("log", help: "Log lines that were not written.")
        case .spansExported: .counter(help: "Spans that the collector accepted.")
        case .spansLost: .counter(help: "Spans that were not delivered.")
        case .metricsExports: .counter("result", help: "Deliveries of the metrics to the collector.")
        case .storeWritable: .gauge(help: "1 if the store can be written.")
        case .storeConnectionsOpen: .gauge(help: "Open connections to the database.")
        case .storeConnectionsIdle: .gauge(help: "Open connections to the database that are not in use.")
        case .storeConnectionsMade: .counter(help: "Connections made to the database.")
        case .storeConnectionsFailed: .counter(help: "Connections to the database that could not be made.")
        case .storeCallersWaiting: .gauge(help: "Calls that wait for a connection to the database.")
        case .storeStatementDuration:
            .histogram("database", help: "Time of a statement, the wait for a connection included.")
        case .storeErrors: .counter("cause", help: "Failed statements by cause.")
        case .replicas: .gauge("state", help: "Gateways that share the database, by state.")
        case .ready: .gauge(help: "1 if the gateway is ready for traffic.")
        case .draining: .gauge(help: "1 if the gateway stops, or an operator drains it.")
        case .buildInfo: .gauge("version", help: "Always 1; the version is a label.")

        case .processCPU: .counter(help: "User and system CPU time of the process.")
        case .processResidentMemory: .gauge(help: "Resident memory of the process.")
        case .processAnonymousMemory: .gauge(help: "Resident memory that belongs to no file.")
        case .processVirtualMemory: .gauge(help: "Virtual memory of the process.")
        case .processOpenDescriptors: .gauge(help: "Open file descriptors.")
        case .processMaximumDescriptors: .gauge(help: "Most file descriptors that can be open.")
        case .processStart: .gauge(help: "Start time of the process.")
        }
    }
}
