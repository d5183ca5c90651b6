internal import CCurl

/// A request of the gateway itself, as an ordinary libcurl transfer with a complete response.
package struct CurlFetchRequest: Sendable {
    package var method: String
    package var url: String
    /// Complete header lines, `Name: value`, without CR and LF.
    package var headerLines: [String]
    package var body: [UInt8]?
    package var deadline: Duration
    package var maximumResponseBytes: Int
    /// Whether a response with a longer body fails; otherwise the body is truncated.
    package var needsWholeBody: Bool
    /// Whether `http` is allowed in addition to `https`.
    package var allowsPlainText: Bool
    /// Whether connections to private addresses are allowed, which only this machine or its network can reach.
    package var allowsPrivateAddresses: Bool
    package var access: CurlAccess
    /// Whether the request uses a new connection, which also resolves the host's name anew.
    package var connectsAfresh: Bool

    package init(
        method: String, url: String, headerLines: [String], body: [UInt8]?, deadline: Duration,
        maximumResponseBytes: Int, needsWholeBody: Bool = true, allowsPlainText: Bool,
        allowsPrivateAddresses: Bool = true,
        access: CurlAccess = CurlAccess(), connectsAfresh: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headerLines = headerLines
        self.body = body
        self.deadline = deadline
        self.maximumResponseBytes = maximumResponseBytes
        self.needsWholeBody = needsWholeBody
        self.allowsPlainText = allowsPlainText
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.access = access
        self.connectsAfresh = connectsAfresh
    }
}

package struct CurlFetchResponse: Sendable {
    package var status: Int
    /// The header lines of the final response, without line ends.
    package var headerLines: [String]
    package var body: [UInt8]
}

/// Runs a ``CurlFetchRequest`` on a loop. The loop retains it until it is done.
package final class CurlFetch: CurlTransfer {
    let easy: CurlEasy
    private let loop: CurlLoop
    private let limit: Int
    private let needsWholeBody: Bool
    private var body: [UInt8] = []
    private var headerLines: [String] = []
    private var headerBytes = 0
    private var exceededLimit = false
    /// Whether the body was truncated, which ended the transfer.
    private var isCut = false
    private var refusedAddress = false
    private var completion: ((Result<CurlFetchResponse, CurlFailure>) -> Void)?

    /// - Parameter completion: called once, on the loop.
    package init(
        _ request: CurlFetchRequest, on loop: CurlLoop,
        completion: @escaping (Result<CurlFetchResponse, CurlFailure>) -> Void
    ) throws(CurlFailure) {
        self.loop = loop
        self.limit = request.maximumResponseBytes
        self.needsWholeBody = request.needsWholeBody
        self.completion = completion
        easy = try CurlEasy()
        try setOptions(request)
        try loop.begin(
            easy, for: self,
            CurlNeeds(
                request.access, url: request.url, connectTimeout: Self.connectTimeout(request),
                deadline: request.deadline))
    }

    private static func connectTimeout(_ request: CurlFetchRequest) -> Duration { min(request.deadline, .seconds(5)) }

    private func setOptions(_ request: CurlFetchRequest) throws(CurlFailure) {
        try easy.setCommonOptions(
            url: request.url, allowedSchemes: request.allowsPlainText ? "http,https" : "https",
            connectTimeout: Self.connectTimeout(request))
        try easy.set(request.access)
        // libcurl does not distinguish connections by trust or by refused addresses, and would reuse a connection that
        // was made under other rules.
        if request.connectsAfresh || request.access.certificateAuthorities != nil || request.access.trustsKeyAlone
            || !request.allowsPrivateAddresses
        {
            try easy.set(CURLOPT_FRESH_CONNECT, 1)
            try easy.set(CURLOPT_FORBID_REUSE, 1)
        }
        try easy.set(CURLOPT_TIMEOUT_MS, request.deadline.wholeMilliseconds)
        try easy.set(CURLOPT_CUSTOMREQUEST, request.method)
        // Connections are reused for a limited time, so that a name that has moved is eventually resolved again.
        try easy.set(CURLOPT_MAXLIFETIME_CONN, 300)
        if request.method == "HEAD" { try easy.set(CURLOPT_NOBODY, 1) }
        if let body = request.body {
            try gatehouse_setopt_offset(easy.handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)).check()
            // COPYPOSTFIELDS copies the number of bytes set above, whatever their values.
            let code = body.withUnsafeBytes { bytes in
                gatehouse_setopt_pointer(
                    easy.handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            }
            try code.check()
        }
        // No `Expect: 100-continue`: it costs a round trip with servers that ignore it.
        try easy.set(headers: request.headerLines + ["Expect:"])
        // Ends a transfer early if its announced length is too large; ``receive(body:)`` counts all others.
        if needsWholeBody {
            try gatehouse_setopt_offset(easy.handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(limit)).check()
        }
        let context = Unmanaged.passUnretained(self).toOpaque()
        try easy.set(CURLOPT_WRITEDATA, pointer: context)
        try easy.set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let fetch = Unmanaged<CurlFetch>.fromOpaque(context).takeUnretainedValue()
            return fetch.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        if !request.allowsPrivateAddresses { try refusePrivateAddresses() }
        try easy.set(CURLOPT_HEADERDATA, pointer: context)
        try easy.set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let fetch = Unmanaged<CurlFetch>.fromOpaque(context).takeUnretainedValue()
            return fetch.receive(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
    }

    /// Checks each address just before connecting to it, so that no name can hide a private one.
    private func refusePrivateAddresses() throws(CurlFailure) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try gatehouse_setopt_open_socket(
            easy.handle,
            { context, _, address in
                guard let context, let address else { return -1 }
                let fetch = Unmanaged<CurlFetch>.fromOpaque(context).takeUnretainedValue()
                var bytes = [UInt8](repeating: 0, count: 16)
                let count = Int(gatehouse_address_bytes(address, &bytes))
                guard !PrivateAddress.contains(bytes.prefix(count)) else {
                    fetch.refusedAddress = true
                    return -1
                }
                return gatehouse_open_socket(address)
            }, context
        ).check()
    }

    private func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= limit else {
            (isCut, exceededLimit) = (!needsWholeBody, needsWholeBody)
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    private func receive(header bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= 64 << 10 else {
            exceededLimit = true
            return 0
        }
        // Works on bytes: finding and comparing grapheme clusters can take long.
        let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") }
        let end = unsafe bytes.lastIndex { !isEnd($0) }.map { $0 + 1 } ?? 0
        let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<end])
        // A new status line begins a new response: the previous one was a 1xx.
        if unsafe line.starts(with: "HTTP/".utf8) {
            headerLines.removeAll()
        } else if !line.isEmpty {
            unsafe headerLines.append(String(decoding: line, as: UTF8.self))
        }
        return bytes.count
    }

    func finished(_ result: CURLcode) {
        loop.remove(easy)
        guard let completion else { return }
        self.completion = nil
        if exceededLimit {
            completion(.failure(CurlFailure(CURLE_FILESIZE_EXCEEDED)))
        } else if refusedAddress, result == CURLE_COULDNT_CONNECT {
            completion(.failure(CurlFailure(kind: .privateAddress, description: "the host's address is private")))
        } else if result != CURLE_OK, !isCut {
            completion(.failure(CurlFailure(result, of: easy)))
        } else {
            var status = 0
            _ = gatehouse_getinfo_status(easy.handle, &status)
            completion(.success(CurlFetchResponse(status: status, headerLines: headerLines, body: body)))
        }
    }

    /// Cancels the transfer; the completion gets a failure.
    package func cancel() {
        guard completion != nil else { return }
        finished(CURLE_ABORTED_BY_CALLBACK)
    }
}
