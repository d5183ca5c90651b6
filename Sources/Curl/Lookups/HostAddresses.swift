internal import CCurl
internal import Encoding
internal import Glibc
internal import NIOCore

/// The host and port of a server whose name must be looked up.
struct HostToLookUp: Equatable {
    /// The name in lower case, since names are case-insensitive (RFC 4343).
    let name: String
    let port: Int

    /// Returns nil if there is nothing to look up: for addresses, and for names of this machine that libcurl knows.
    init?(_ access: CurlAccess, url: String) {
        guard access.unixSocket == nil else { return nil }
        let usualPort = url.begins(with: "https:") ? 443 : 80
        let authority = access.connectTo ?? String(Self.authority(of: url))
        guard !authority.begins(with: "[") else { return nil }
        let parts = authority.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard let host = parts.first, let port = parts.count == 2 ? Int(Substring(parts[1])) : usualPort else {
            return nil
        }
        let name = String(Substring(host)).asciiLowercased
        var address = in_addr()
        guard !name.hasSameBytes(as: "localhost"), !name.ends(with: ".localhost"),
            inet_pton(AF_INET, name, &address) != 1
        else { return nil }
        self.name = name
        self.port = port
    }

    private static func authority(of url: String) -> Substring {
        let scheme = url.utf8.span.firstIndex(of: UInt8(ascii: ":")) ?? 0
        // The authority follows `://`, or begins a URL without a scheme.
        let begin = url.utf8.dropFirst(scheme).prefix(3).elementsEqual("://".utf8) ? scheme + 3 : 0
        return Substring(url.utf8.dropFirst(begin).prefix { !"/?#".utf8.contains($0) })
    }

    /// Returns the entry for `CURLOPT_RESOLVE`, with the addresses in a random order for each connection.
    func line(_ addresses: [String]) -> String {
        let list = addresses.shuffled().map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0 }
        return "\(name):\(port):\(list.joined(separator: ","))"
    }
}

/// The system's resolver: /etc/hosts, DNS, and other sources configured in nsswitch.conf(5).
package enum HostAddresses {
    /// The lookups of the whole process.
    package static var tally: LookupTally { shared.tally }

    /// Names in use are looked up about once a second. The TTL of DNS is not available: getaddrinfo(3) does not return
    /// it.
    static let shared = SharedLookups<String, [String]>(
        LookupTimes(
            fresh: .seconds(1), servedWhileRefreshed: .seconds(5), patience: .milliseconds(500), retry: .seconds(1)),
        // An unresponsive resolver blocks these threads and no others.
        on: LookupThreads(most: 16), look: find)

    /// Looks a name up. Blocks as long as the resolver takes.
    @Sendable private static func find(_ name: String) -> LookupResult<[String]> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        defer { freeaddrinfo(list) }
        let failure = CurlFailure(CURLE_COULDNT_RESOLVE_HOST)
        guard code == 0 else { return isAbsence(code) ? .absent(failure) : .failed(failure) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            if let address = text(of: entry) { addresses.append(address) }
            next = entry.ai_next
        }
        return addresses.isEmpty ? .absent(failure) : .found(addresses)
    }

    /// Whether the code states that the name has no address. EAI_NODATA (-5) and EAI_ADDRFAMILY (-9) are specific to
    /// glibc.
    private static func isAbsence(_ code: Int32) -> Bool {
        [EAI_NONAME, -5, -9].contains(code)
    }

    /// Returns an address as text; nil if it has a zone, which libcurl does not accept in a list.
    private static func text(of entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        let address = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return address.contains(UInt8(ascii: "%")) ? nil : String(decoding: address, as: UTF8.self)
    }
}
