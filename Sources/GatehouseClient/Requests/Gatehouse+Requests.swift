public import Foundation
#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

extension Gatehouse {
    /// A request to the gateway's origin.
    ///
    /// - Parameter path: relative to ``Configuration/url``, with its query. One that is none in a URL is not sent.
    public nonisolated func request(_ path: String) -> URLRequest {
        var text = configuration.url.absoluteString
        while text.last == "/" { text.removeLast() }
        text += path.hasPrefix("/") ? path : "/" + path
        var request = URLRequest(url: configuration.url)
        request.url = URL(string: text)
        // On Linux the initializer's timeout has no effect.
        request.timeoutInterval = configuration.timeout
        return request
    }

    /// Sends a request with the session's token, and returns the response, whatever its status.
    ///
    /// A token that the gateway refuses is refreshed once, and the request sent again. Other 401 responses are returned
    /// as they are. Redirects are followed within the gateway's origin.
    ///
    /// - Throws: ``GatehouseError``: ``GatehouseError/foreignOrigin(_:)`` for a request to another origin,
    ///   ``GatehouseError/bodyNotReplayable`` for a body that is a stream and would have to be sent again.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await exchange(request, uploading: nil, transport.data)
    }

    /// As ``data(for:)`` for a path.
    public func data(_ path: String) async throws -> (Data, HTTPURLResponse) { try await data(for: request(path)) }

    /// As ``data(for:)``, with a file as the request's body.
    public func upload(for request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse) {
        try await exchange(request, uploading: file, transport.data)
    }

    /// As ``data(for:)``, with the response's body as it comes. Pieces are in memory until they are read.
    public func bytes(for request: URLRequest) async throws -> (ResponseBody, HTTPURLResponse) {
        try await exchange(request, uploading: nil, transport.send)
    }

    private typealias Send<Body> = @Sendable (URLRequest, URL?) async throws -> (HTTPURLResponse, Body)

    /// A request with the session's token, for other HTTP clients. A 401 response with `error="invalid_token"` asks for
    /// ``refresh()`` and one repetition.
    public func signed(_ request: URLRequest) async throws -> URLRequest {
        try checkOrigin(request.url)
        return try await usableSession().accessToken.signing(request)
    }

    private func exchange<Body: Sendable>(
        _ request: URLRequest, uploading file: URL?, _ send: Send<Body>
    ) async throws -> (Body, HTTPURLResponse) {
        try checkOrigin(request.url)
        let session = try await usableSession()
        let (body, response) = try await follow(request, session.accessToken, file, send)
        guard response.refusesToken else { return (body, response) }
        guard let newer = try await renewed(session) else { return (body, response) }
        guard request.httpBodyStream == nil else { throw GatehouseError.bodyNotReplayable }
        return try await follow(request, newer.accessToken, file, send)
    }

    /// Sends a request, and follows redirects within the gateway's origin (RFC 9110, section 15.4).
    private func follow<Body: Sendable>(
        _ request: URLRequest, _ token: Secret, _ file: URL?, _ send: Send<Body>
    ) async throws -> (Body, HTTPURLResponse) {
        var request = token.signing(request)
        var file = file
        for _ in 0..<16 {
            let (response, body): (HTTPURLResponse, Body)
            do {
                (response, body) = try await send(request, file)
            } catch let error as URLError {
                try Task.checkCancellation()
                throw GatehouseError.network(error)
            }
            noteTime(of: response)
            guard let next = request.redirected(by: response), Origin(next.url) == Origin(configuration.url) else {
                return (body, response)
            }
            if next.httpMethod != request.httpMethod { file = nil }
            request = next
        }
        throw GatehouseError.network(URLError(.httpTooManyRedirects))
    }

    func checkOrigin(_ url: URL?) throws {
        guard let origin = Origin(url), origin == Origin(configuration.url) else {
            throw GatehouseError.foreignOrigin(url)
        }
    }
}

extension Secret {
    func signing(_ request: URLRequest) -> URLRequest {
        var request = request
        request.setValue("Bearer \(text)", forHTTPHeaderField: "Authorization")
        return request
    }
}

extension URLRequest {
    /// The request that a redirect asks for; nil if the response is none, or the body cannot be sent again.
    func redirected(by response: HTTPURLResponse) -> URLRequest? {
        guard (300..<400).contains(response.statusCode), let location = response.value(forHTTPHeaderField: "Location"),
            let target = URL(string: location, relativeTo: url)?.absoluteURL
        else { return nil }
        var next = self
        next.url = target
        switch response.statusCode {
        case 303 where httpMethod != "HEAD", 301 where httpMethod == "POST", 302 where httpMethod == "POST":
            next.httpMethod = "GET"
            next.httpBody = nil
            next.httpBodyStream = nil
            next.setValue(nil, forHTTPHeaderField: "Content-Type")
            next.setValue(nil, forHTTPHeaderField: "Content-Length")
        case 301, 302, 303, 307, 308:
            guard httpBodyStream == nil else { return nil }
        default: return nil
        }
        return next
    }
}
