internal import Encoding
internal import Logging

/// The control interface of the local Apple for tests and apps: signs users in, acts for them and rotates keys.
/// Requests have passed the checks of ``LocalPoolControl``.
struct AppleControl: Sendable {
    let apple: LocalApple

    /// Returns nil if the path does not exist.
    func answer(_ request: LocalPoolRequest) async throws(PoolError) -> LocalPoolResponse? {
        do {
            switch (request.method, request.path) {
            case ("POST", "/_local/apple/sign-in"):
                return .json(.object(try await apple.signIn(LocalApple.SignIn(request.controlBody()))))
            case ("POST", "/_local/apple/events"):
                return .json(.object(try await apple.notify(LocalApple.Event(request.controlBody()))))
            case ("POST", "/_local/apple/keys/rotate"):
                try await apple.keys.rotate(keepingOld: request.controlBody()["keep_old"]?.boolValue ?? true)
                return .json(.object(apple.keys.keySet))
            case ("GET", "/_local/apple/account"):
                guard let user = request.query("user") else {
                    throw PoolError.invalidParameter("The query needs user=<address or sub>.")
                }
                return .json(try await apple.settings(of: user))
            default: return nil
            }
        } catch let error as PoolError {
            throw error
        } catch {
            apple.logger.error("a control call failed", metadata: ["error": "\(error)"])
            throw .internalError
        }
    }
}

extension LocalApple.SignIn {
    /// `{user, client_id, nonce?, hide_email?, claims?}`.
    init(_ body: JSON) throws(PoolError) {
        let fields = try ControlFields(body, ["user", "client_id", "nonce", "hide_email", "claims"])
        self.init(
            user: try fields.required("user"), clientID: try fields.required("client_id"),
            nonce: try fields.text("nonce"), hidesEmail: try fields.flag("hide_email"),
            changes: try fields.object("claims"))
    }
}

extension LocalApple.Event {
    /// `{type, user, client_id, event?, claims?, as_object?, send?}`.
    init(_ body: JSON) throws(PoolError) {
        let fields = try ControlFields(
            body, ["type", "user", "client_id", "event", "claims", "as_object", "send"])
        self.init(
            type: try fields.required("type"), user: try fields.required("user"),
            clientID: try fields.required("client_id"), eventChanges: try fields.object("event"),
            changes: try fields.object("claims"), isObject: try fields.flag("as_object") ?? false,
            isSent: try fields.flag("send"))
    }
}

/// The members of a control call's body. Unknown members and wrong types are refused with the member's name.
private struct ControlFields {
    private let object: JSONObject

    init(_ body: JSON, _ known: Set<String>) throws(PoolError) {
        guard let object = body.objectValue else { throw .invalidParameter("The body is an object.") }
        if let unknown = object.first(where: { !known.contains($0.name) }) {
            throw .invalidParameter("There is no \(unknown.name).")
        }
        self.object = object
    }

    func required(_ name: String) throws(PoolError) -> String {
        guard let text = try text(name), !text.isEmpty else { throw .invalidParameter("\(name) is missing or empty.") }
        return text
    }

    func text(_ name: String) throws(PoolError) -> String? {
        try value(name, "a text") { $0.stringValue }
    }

    func flag(_ name: String) throws(PoolError) -> Bool? {
        try value(name, "true or false") { $0.boolValue }
    }

    func object(_ name: String) throws(PoolError) -> JSONObject {
        try value(name, "an object") { $0.objectValue } ?? [:]
    }

    private func value<Value>(
        _ name: String, _ kind: String, _ read: (JSON) -> Value?
    ) throws(PoolError) -> Value? {
        guard let member = object[name] else { return nil }
        guard let value = read(member) else { throw .invalidParameter("\(name) is \(kind).") }
        return value
    }
}
