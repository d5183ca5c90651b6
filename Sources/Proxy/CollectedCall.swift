internal import NIOCore

/// A call that the gateway answers itself, and whose body it collects for that.
enum CollectedCall {
    case endpoint(EndpointCall)
    case direct(DirectCall)

    /// The most bytes of a body.
    static let bodyLimit = 64 << 10

    func append(_ body: ByteBuffer) {
        switch self {
        case .endpoint(let call): call.body.append(contentsOf: body.readableBytesView)
        case .direct(let call): call.body.append(contentsOf: body.readableBytesView)
        }
    }
}
