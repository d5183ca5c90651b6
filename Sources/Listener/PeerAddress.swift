internal import Pipeline
internal import Sockets

extension PeerAddress {
    /// The address without its port; nil if it is neither IPv4 nor IPv6.
    var address: IPAddress? {
        switch self {
        case .v4(let address, _): IPAddress(ipv4: address)
        case .v6(let address, _): IPAddress(ipv6: address)
        case .other: nil
        }
    }
}
