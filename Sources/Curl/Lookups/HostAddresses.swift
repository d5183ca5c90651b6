internal import CCurl
internal import Encoding
internal import Glibc
internal import NIOCore

/// Host and port of a server whose name must be looked up.
struct HostToLookUp: Equatable {
    /// In lower case, as names are compared (RFC 4343).
    let name: String
    let port: Int

    /// Nil where there is nothing to look up: for addresses, and for the names of this machine that libcurl knows.
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
        // Behind `://`; a URL without a scheme begins with it.
        let begin = url.utf8.dropFirst(scheme).prefix(3).elementsEqual("://".utf8) ? scheme + 3 : 0
        return Substring(url.utf8.dropFirst(begin).prefix { !"/?#".utf8.contains($0) })
    }

    /// The entry for `CURLOPT_RESOLVE`, with the addresses in a random order for each connection.
    func line(_ addresses: [String]) -> String {
        let list = addresses.shuffled().map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0 }
        return "\(name):\(port):\(list.joined(separator: ","))"
    }
}

/// The system's resolver: /etc/hosts, DNS, and whatever else nsswitch.conf(5) names.
package enum HostAddresses {
    /// Of the whole process.
    package static var tally: LookupTally { shared.tally }

    /// Names in use are looked up about once a second. DNS's own times to live are not known here: getaddrinfo(3)
    /// gives none.
    static let shared = SharedLookups<String, [String]>(
        LookupTimes(
            fresh: .seconds(1), servedWhileRefreshed: .seconds(5), patience: .milliseconds(500), retry: .seconds(1)),
        // A resolver that does not answer holds these, and no thread besides.
        on: LookupThreads(most: 16), look: find)

    /// Blocks, for as long as the resolver takes.
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

    /// Whether the resolver is sure that the name has no address. EAI_NODATA and EAI_ADDRFAMILY are glibc's own.
    private static func isAbsence(_ code: Int32) -> Bool {
        [EAI_NONAME, -5, -9].contains(code)
    }

    /// Nil for an address with a zone, which libcurl would not take in a list.
    private static func text(of entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        let address = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return address.contains(UInt8(ascii: "%")) ? nil : String(decoding: address, as: UTF8.self)
    }
}
