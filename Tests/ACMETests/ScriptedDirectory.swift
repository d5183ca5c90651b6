import Encoding
import Foundation
import HTTPClient
import TestSupport

/// A directory at `https://ca.test`, with an authority that OpenSSL's command signs for. A test puts replies in the
/// place of its own.
actor ScriptedDirectory: Fetcher {
    enum Reply {
        case own
        /// The directory does as it was asked, and its response is lost.
        case lost
        /// The request is lost.
        case away
        case status(Int, retryAfter: Int? = nil)
        /// The task that asks is cancelled.
        case cancels
    }

    /// How many seconds the authority's own certificate is valid for, and those that it issues.
    static let (authorityLife, certificateLife): (Int64, Int64) = (30 * 86_400, 90 * 86_400)

    /// The last part of each URL that was asked for.
    private(set) var calls: [String] = []
    private var replies: [String: [Reply]]
    /// How often the order says that the certificate is being made.
    private var delays: Int
    private var status = "pending"
    private var isValidated = false
    private var chain: [UInt8] = []

    /// - Parameter replies: by the last part of the URL; the directory's own follow.
    init(_ replies: [String: [Reply]] = [:], delays: Int = 0) {
        self.replies = replies
        self.delays = delays
    }

    func endOrder(as status: String) { self.status = status }

    func count(_ step: String) -> Int { calls.count { $0 == step } }

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let step = String(request.url.dropFirst("https://ca.test/".count))
        calls.append(step)
        guard let reply = replies[step]?.first else { return own(step, request) }
        replies[step]?.removeFirst()
        switch reply {
        case .own: return own(step, request)
        case .lost:
            _ = own(step, request)
            throw .timedOut
        case .away: throw .cannotConnect("away")
        case .status(let status, let retryAfter):
            return Self.response(status, retryAfter.map { [(name: "retry-after", value: "\($0)")] } ?? [])
        case .cancels:
            withUnsafeCurrentTask { $0?.cancel() }
            throw .cancelled
        }
    }

    private static let nonce = (name: "replay-nonce", value: "AQ")

    private static func response(
        _ status: Int = 200, _ headers: [(name: String, value: String)] = [], _ body: JSON = [:]
    ) -> FetchResponse {
        FetchResponse(status: status, headers: [nonce] + headers, body: body.encoded())
    }

    private static func url(_ step: String) -> JSON { .string("https://ca.test/\(step)") }

    private var order: JSON {
        [
            "status": .string(status), "authorizations": [Self.url("authorization")], "finalize": Self.url("finalize"),
            "certificate": Self.url("certificate"),
        ]
    }

    private func own(_ step: String, _ request: FetchRequest) -> FetchResponse {
        switch step {
        case "dir":
            let urls: JSON = [
                "newNonce": Self.url("nonce"), "newAccount": Self.url("account"), "newOrder": Self.url("new"),
            ]
            return Self.response(200, [], urls)
        case "new":
            (status, isValidated) = ("pending", false)
            return Self.response(201, [(name: "location", value: "https://ca.test/order")], order)
        case "account": return Self.response(201, [(name: "location", value: "https://ca.test/account/1")])
        case "authorization":
            let authorization: JSON = [
                "status": .string(isValidated ? "valid" : "pending"), "identifier": ["type": "dns", "value": "a.test"],
                "challenges": [["type": "http-01", "url": Self.url("challenge"), "token": "t"]],
            ]
            return Self.response(200, [], authorization)
        case "challenge":
            (isValidated, status) = (true, "ready")
            return Self.response()
        case "finalize":
            chain = (try? Self.issue(request)) ?? []
            status = delays > 0 ? "processing" : "valid"
            return Self.response(200, [], order)
        case "order":
            guard status == "processing" else { return Self.response(200, [], order) }
            delays -= 1
            if delays == 0 { status = "valid" }
            return Self.response(200, [(name: "retry-after", value: "1")], order)
        case "certificate": return FetchResponse(status: 200, headers: [Self.nonce], body: chain)
        default: return Self.response()
        }
    }

    // MARK: The authority

    private struct Unusable: Error {}

    private static func issue(_ request: FetchRequest) throws -> [UInt8] {
        let body = try JSON.parse(request.body ?? [])
        guard let payload = body["payload"]?.stringValue.flatMap({ Base64URL.decode($0.utf8) }),
            let csr = try JSON.parse(payload)["csr"]?.stringValue.flatMap({ Base64URL.decode($0.utf8) })
        else { throw Unusable() }
        let directory = URL(filePath: NSTemporaryDirectory()).appending(path: "gatehouse-authority-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data(csr).write(to: directory.appending(path: "request"))
        try openssl(
            directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
            "/CN=authority", "-keyout", "key", "-out", "authority", "-days", "\(authorityLife / 86_400)")
        try openssl(
            directory, "x509", "-req", "-inform", "DER", "-in", "request", "-CA", "authority", "-CAkey", "key",
            "-copy_extensions", "copyall", "-days", "\(certificateLife / 86_400)", "-out", "leaf")
        return try ["leaf", "authority"].flatMap { try Array(Data(contentsOf: directory.appending(path: $0))) }
    }

    private static func openssl(_ directory: URL, _ arguments: String...) throws {
        let ended = try ChildProcess.run(
            ["/usr/bin/env", "-C", directory.path, "/usr/bin/openssl"] + arguments)
        guard ended.status == 0 else { throw Unusable() }
    }
}
