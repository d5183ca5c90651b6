internal import NIOCore

/// A call that the gateway answers itself. Its body is collected first.
enum CollectedCall {
    case endpoint(EndpointCall)
    case direct(DirectCall)

    /// The maximum size of a body in bytes.
    static let bodyLimit = 64 << 10

    func append(_ body: ByteBuffer) {
        switch self {
        case .endpoint(let call): call.body.append(contentsOf: body.readableBytesView)
        case .direct(let call): call.body.append(contentsOf: body.readableBytesView)
        }
    }
}
