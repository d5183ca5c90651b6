internal import CCurl
internal import Cryptography

/// A libcurl easy handle, freed with this object. Used only on its loop's thread.
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

    /// Sets the address to connect to. libcurl reads the list when it connects, so it must live as long as the handle.
    func set(connectTo address: String) throws(CurlFailure) {
        guard let list = curl_slist_append(connectToList, "::\(address)") else {
            throw CurlFailure(kind: .resource, description: "no address list")
        }
        connectToList = list
        try gatehouse_setopt_list(handle, CURLOPT_CONNECT_TO, list).check()
    }

    /// Sets the addresses of a name, as `name:port:address,address`. libcurl reads the list when it connects, so it
    /// must live as long as the handle.
    func set(resolved line: String) throws(CurlFailure) {
        guard let list = curl_slist_append(nil, line) else {
            throw CurlFailure(kind: .resource, description: "no address list")
        }
        curl_slist_free_all(resolveList)
        resolveList = list
        try gatehouse_setopt_list(handle, CURLOPT_RESOLVE, list).check()
    }

    /// Verifies the server against these parsed certificates, instead of any that libcurl would read.
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

    /// Sends bytes over this handle's connection. The result is `CURLE_AGAIN` if none can be sent now.
    func send(_ bytes: UnsafeRawBufferPointer) -> (result: CURLcode, count: Int) {
        var sent = 0
        let result = curl_easy_send(handle, bytes.baseAddress, bytes.count, &sent)
        return (result, sent)
    }

    /// Receives bytes. The count is 0 at the end; the result is `CURLE_AGAIN` if none are available yet.
    func receive(into room: UnsafeMutableRawBufferPointer) -> (result: CURLcode, count: Int) {
        var received = 0
        let result = curl_easy_recv(handle, room.baseAddress, room.count, &received)
        return (result, received)
    }

    /// Sets the options that all connections and transfers of the gateway share.
    func setCommonOptions(url: String, allowedSchemes: String, connectTimeout: Duration) throws(CurlFailure) {
        // No signals, and no handling of SIGPIPE around every send.
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
        // Certificates and addresses are passed to libcurl (``CurlLoop/begin(_:for:_:)``). Otherwise it would read
        // certificates on the event loop for each connection, and would block there at the end of a transfer until its
        // resolver thread ends.
        try gatehouse_setopt_text(handle, CURLOPT_CAINFO, nil).check()
        try gatehouse_setopt_text(handle, CURLOPT_CAPATH, nil).check()
        // libcurl's cache identifies a certificate store only by its file: without a file, all stores would be the
        // same.
        try set(CURLOPT_CA_CACHE_TIMEOUT, 0)
        try set(CURLOPT_QUICK_EXIT, 1)
    }
}

/// The process-wide initialization of libcurl, which happens once.
enum CurlGlobal {
    private static let started: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// The paths of the system's certificates that libcurl was built with.
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
    /// The duration in milliseconds, rounded up, so that a short timeout does not become 0, which means none.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
