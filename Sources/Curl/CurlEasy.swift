internal import CCurl
internal import Cryptography

/// One libcurl easy handle, freed with this value. Touched only on its loop's thread.
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var connectToList: UnsafeMutablePointer<curl_slist>?
    private var resolveList: UnsafeMutablePointer<curl_slist>?
    /// The argument of the callback of ``set(trusting:)``.
    private var trusted: TrustedCertificates?

    init() throws(CurlFailure) {
        CurlGlobal.start()
        guard let handle = curl_easy_init() else {
            throw CurlFailure(kind: .resource, description: "no handle")
        }
        self.handle = handle
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        curl_slist_free_all(connectToList)
        curl_slist_free_all(resolveList)
    }

    func set(_ option: CURLoption, _ value: Int) throws(CurlFailure) {
        try gatehouse_setopt_long(handle, option, value).check()
    }

    /// libcurl copies the text.
    func set(_ option: CURLoption, _ value: String) throws(CurlFailure) {
        try gatehouse_setopt_text(handle, option, value).check()
    }

    /// libcurl copies the bytes.
    func set(_ option: CURLoption, bytes: [UInt8]) throws(CurlFailure) {
        try gatehouse_setopt_bytes(handle, option, bytes, bytes.count).check()
    }

    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) throws(CurlFailure) {
        try gatehouse_setopt_pointer(handle, option, pointer).check()
    }

    func set(_ option: CURLoption, callback: @escaping curl_write_callback) throws(CurlFailure) {
        try gatehouse_setopt_data(handle, option, callback).check()
    }

    func set(headers lines: [String]) throws(CurlFailure) {
        for line in lines {
            guard let list = curl_slist_append(headerList, line) else {
                throw CurlFailure(kind: .resource, description: "no header list")
            }
            headerList = list
        }
        try gatehouse_setopt_list(handle, CURLOPT_HTTPHEADER, headerList).check()
    }

    /// libcurl reads the list when it connects, so that it lives as long as the handle.
    func set(connectTo address: String) throws(CurlFailure) {
        guard let list = curl_slist_append(connectToList, "::\(address)") else {
            throw CurlFailure(kind: .resource, description: "no address list")
        }
        connectToList = list
        try gatehouse_setopt_list(handle, CURLOPT_CONNECT_TO, list).check()
    }

    /// A name and its addresses, `name:port:address,address`. libcurl reads the list when it connects, so that it lives
    /// as long as the handle.
    func set(resolved line: String) throws(CurlFailure) {
        guard let list = curl_slist_append(nil, line) else {
            throw CurlFailure(kind: .resource, description: "no address list")
        }
        curl_slist_free_all(resolveList)
        resolveList = list
        try gatehouse_setopt_list(handle, CURLOPT_RESOLVE, list).check()
    }

    /// Verifies the server against these certificates, which were parsed before, instead of any that libcurl would
    /// read.
    func set(trusting certificates: TrustedCertificates) throws(CurlFailure) {
        trusted = certificates
        let context = Unmanaged.passUnretained(certificates).toOpaque()
        let code = gatehouse_setopt_tls_context(
            handle,
            { _, tls, context in
                guard let tls, let context else { return CURLE_SSL_CACERT_BADFILE }
                Unmanaged<TrustedCertificates>.fromOpaque(context).takeUnretainedValue().replaceStore(ofContext: tls)
                return CURLE_OK
            }, context)
        try code.check()
    }

    /// Bytes over this handle's connection: how many were taken; `CURLE_AGAIN` when none can be now.
    func send(_ bytes: UnsafeRawBufferPointer) -> (result: CURLcode, count: Int) {
        var sent = 0
        let result = curl_easy_send(handle, bytes.baseAddress, bytes.count, &sent)
        return (result, sent)
    }

    /// How many bytes came, none at the end; `CURLE_AGAIN` when none are there yet.
    func receive(into room: UnsafeMutableRawBufferPointer) -> (result: CURLcode, count: Int) {
        var received = 0
        let result = curl_easy_recv(handle, room.baseAddress, room.count, &received)
        return (result, received)
    }

    /// Sets the options that all connections and transfers of the gateway share.
    func setCommonOptions(url: String, allowedSchemes: String, connectTimeout: Duration) throws(CurlFailure) {
        // No signals, no SIGPIPE juggling around every send.
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_URL, url)
        // The environment (http_proxy and the like) must not reroute traffic.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_PROTOCOLS_STR, allowedSchemes)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout.wholeMilliseconds)
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        // libcurl is given certificates and addresses (``CurlLoop/begin(_:for:_:)``). It would read the one on the
        // event loop for each connection, and waits there for its thread with the other when a transfer ends.
        try gatehouse_setopt_text(handle, CURLOPT_CAINFO, nil).check()
        try gatehouse_setopt_text(handle, CURLOPT_CAPATH, nil).check()
        // Its cache knows a store by the file alone: without a file, all stores would be the same to it.
        try set(CURLOPT_CA_CACHE_TIMEOUT, 0)
        try set(CURLOPT_QUICK_EXIT, 1)
    }
}

/// libcurl's process-wide start, once.
enum CurlGlobal {
    private static let started: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// Where libcurl was built to look for the system's certificates.
    static let certificatePlaces: (file: String?, folder: String?) = {
        start()
        guard let handle = curl_easy_init() else { return (nil, nil) }
        defer { curl_easy_cleanup(handle) }
        let place = { (info: CURLINFO) in
            var text: UnsafePointer<CChar>?
            guard gatehouse_getinfo_text(handle, info, &text) == CURLE_OK else { return String?.none }
            return text.map { String(cString: $0) }
        }
        return (place(CURLINFO_CAINFO), place(CURLINFO_CAPATH))
    }()

    static func start() {
        precondition(started == CURLE_OK, "libcurl cannot start")
    }
}

extension Duration {
    /// Milliseconds, rounded up, so that a short time-out does not become none.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
