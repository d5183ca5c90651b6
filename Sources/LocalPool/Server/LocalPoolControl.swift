internal import Encoding

/// The control interface of a pool for tests: moves its clock, rotates its keys, injects faults and lists past
/// requests. It serves only clients on this machine, and requires a content type that web pages can't send without
/// CORS.
struct LocalPoolControl: Sendable {
    let pool: UserPool
    var apple: LocalApple?
    let rehearsal: Rehearsal

    /// Returns nil if the path does not exist.
    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse? {
        do throws(PoolError) {
            guard request.isFromLoopback else { return nil }
            switch (request.method, request.path) {
            case ("GET", "/_local/clock"): return clock
            case ("POST", "/_local/clock"):
                return try advanceClock(try request.controlBody())
            case ("POST", "/_local/keys/rotate"):
                return try await rotateKeys(try request.controlBody())
            case ("GET", "/_local/faults"):
                return faults
            case ("POST", "/_local/faults"):
                return try addFaults(try request.controlBody())
            case ("DELETE", "/_local/faults"):
                rehearsal.faults = []
                return faults
            case ("GET", "/_local/calls"):
                return .json(rehearsal.calls)
            case ("DELETE", "/_local/calls"):
                rehearsal.forgetCalls()
                return .json(rehearsal.calls)
            default:
                guard let apple else { return nil }
                return try await AppleControl(apple: apple).answer(request)
            }
        } catch {
            return LocalPoolResponse.refusal(error, requestID: pool.uuid())
        }
    }

    private var clock: LocalPoolResponse { .json(["now": .number(JSONNumber(pool.clock()))]) }

    private var faults: LocalPoolResponse { .json(.array(rehearsal.faults.map(\.json))) }

    /// `{"advance": <seconds>}`.
    private func advanceClock(_ body: JSON) throws(PoolError) -> LocalPoolResponse {
        guard let seconds = body["advance"]?.integerValue, (0...3_153_600_000).contains(seconds) else {
            throw .invalidParameter("The body is {\"advance\": <seconds>}.")
        }
        pool.clock.advance(by: seconds)
        return clock
    }

    /// `{"keep_old": <bool>}`: whether the old keys stay in the key set; true by default.
    private func rotateKeys(_ body: JSON) async throws(PoolError) -> LocalPoolResponse {
        do {
            return .json(.object(try await pool.rotateKeys(keepingOld: body["keep_old"]?.boolValue ?? true)))
        } catch {
            throw .internalError
        }
    }

    /// Appends a list of faults to the existing ones.
    private func addFaults(_ body: JSON) throws(PoolError) -> LocalPoolResponse {
        guard let list = body.arrayValue else { throw .invalidParameter("The body is a list of faults.") }
        var new: [Rehearsal.Fault] = []
        for element in list { new.append(try Rehearsal.Fault(element)) }
        rehearsal.add(new)
        return faults
    }
}

extension LocalPoolRequest {
    /// The JSON body of a control call.
    func controlBody() throws(PoolError) -> JSON {
        guard header("content-type")?.hasPrefix("application/json") == true else {
            throw .invalidParameter("The content type is application/json.")
        }
        guard let body = try? JSON.parse(body) else { throw .serialization }
        return body
    }
}
