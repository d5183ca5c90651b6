import Foundation
public import GatehouseClient

/// Something that goes wrong with a request to a ``FakeGateway``.
public enum Fault: Sendable {
    /// The connection cannot be made: the gateway never sees the request.
    case noConnection
    /// The gateway carries the request out, and the connection breaks before the response.
    case lostResponse
    /// The gateway carries the request out, and the connection breaks in the middle of the response's body.
    case brokenBody
    /// The gateway carries the request out, and something on the way cuts the response's body off, unnoticed.
    case cutBody
    /// Something on the way responds, such as a captive portal. The gateway never sees the request.
    case response(status: Int, body: String, headers: [String: String] = [:])
    /// The gateway refuses the request with this error, and does not carry it out.
    case refusal(GatewayError, challenge: String? = nil)
    /// The request waits before the gateway sees it, until the test releases it. Then the other fault happens, if any.
    indirect case heldBefore(Hold, then: Fault? = nil)
    /// The response waits after the gateway has carried the request out, until the test releases it.
    case heldAfter(Hold)
}

/// A request, or another call, that a test holds back.
public final class Hold: @unchecked Sendable {
    // Unchecked: all is only used under `lock`.
    private let lock = NSLock()
    private var isReached = false
    private var isReleased = false
    private var waitingForArrival: [CheckedContinuation<Void, Never>] = []
    private var waitingForRelease: [CheckedContinuation<Void, Never>] = []

    public init() {}

    /// Returns once somebody is held.
    public func reached() async {
        await withCheckedContinuation { continuation in
            let isNow = lock.withLock {
                if !isReached { waitingForArrival.append(continuation) }
                return isReached
            }
            if isNow { continuation.resume() }
        }
    }

    /// Lets all go on.
    public func release() {
        let waiting = lock.withLock {
            isReleased = true
            defer { waitingForRelease = [] }
            return waitingForRelease
        }
        for each in waiting { each.resume() }
    }

    /// Holds the caller until ``release()``.
    public func wait() async {
        let waiting = lock.withLock {
            isReached = true
            defer { waitingForArrival = [] }
            return waitingForArrival
        }
        for each in waiting { each.resume() }
        await withCheckedContinuation { continuation in
            let isNow = lock.withLock {
                if !isReleased { waitingForRelease.append(continuation) }
                return isReleased
            }
            if isNow { continuation.resume() }
        }
    }
}
