internal import Listener

extension ExchangeState {
    /// The actions after a key was looked for.
    enum LookUp {
        case ignore
        /// Decide about the request again. Then receive again what was held of its body, and its end if that was held.
        case decide(endIsBuffered: Bool)
    }

    /// The actions for a part of the body.
    enum BodyPart {
        case ignore
        /// Hold it until the request is decided. No more is wanted until then.
        case hold
        case collect
        /// The call's body is too long with it: refuse the call, or carry it out as it is. No further part is
        /// collected.
        case callIsTooLong
        case pass
        case passThrough
        /// The body is too long with it: cancel the backend's part and refuse the request.
        case refuse
        /// The same after the response has begun: cancel, record, and break the response off.
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
        /// Record it and break the response off: the client must not take what it has for the whole.
        case breakOff
    }
}

extension RequestBody {
    /// Whether the announced length is more than `limit`.
    func exceeds(_ limit: Int) -> Bool {
        if case .length(let length) = self { length > limit } else { false }
    }
}
