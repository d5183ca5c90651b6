/// The reason that a backend gave no complete response, without details. The raw values are reason codes.
package enum UpstreamReason: String, Sendable, CaseIterable {
    case unreachable = "upstream-unreachable"
    case connectTimeout = "upstream-connect-timeout"
    case firstByteTimeout = "upstream-first-byte-timeout"
    case idleTimeout = "upstream-idle-timeout"
    case wholeTimeout = "upstream-whole-timeout"
    case connectionLost = "upstream-connection-lost"
    case protocolFault = "upstream-protocol-fault"
    case noServer = "upstream-no-server"
    case overloaded = "upstream-overloaded"
    case waitedTooLong = "upstream-waited-too-long"
}
