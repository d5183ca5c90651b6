internal import Pipeline
internal import SettingsReader

extension ScalarFormat where Value == IPNetwork {
    /// An IP address or a CIDR block: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`.
    static var network: Self {
        Self { (text) throws(ScalarRefusal) in
            do throws(IPNetworkError) {
                return try IPNetwork(text)
            } catch {
                switch error {
                case .malformed:
                    throw ScalarRefusal("must be an address or a network like 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32")
                case .bitsBehindPrefix(let meant):
                    throw ScalarRefusal("the address has bits behind its prefix", suggestion: meant)
                }
            }
        }
    }
}
