internal import Listener

extension ExchangeState {
    /// The actions after a key or the attributes of a user were looked up.
    enum LookUp {
        case ignore
        /// Decide about the request again. Then process the buffered part of its body, and its end if that has arrived.
        case decide(endIsBuffered: Bool)
    }

    /// The actions for a part of the body.
    enum BodyPart {
        case ignore
        /// Buffer it until the request is decided, and pause reading.
        case hold
        case collect
        /// This part makes the call's body exceed the limit: refuse the call, or carry it out with the truncated body.
        /// No further part is collected.
        case callIsTooLong
        case pass
        case passThrough
        /// This part makes the body exceed the limit: cancel the exchange with the backend and refuse the request.
        case refuse
        /// The same after the response has begun: cancel, record, and abort the response.
        case breakOff
    }

    /// The actions at the end of the body.
    enum BodyEnd {
        case ignore
        case perform
        case finish
        case passThrough
    }

    /// The other side of the request.
    enum Backend {
        case nobody
        case upstream
        case tunnel
    }

    /// The actions for a backend that has failed.
    enum Failure {
        case ignore
        case refuse
        /// Record it and abort the response: the client must not take it for a complete one.
        case breakOff
    }
}

extension RequestBody {
    /// Whether the announced length is more than `limit`.
    func exceeds(_ limit: Int) -> Bool {
        if case .length(let length) = self { length > limit } else { false }
    }
}
