/// What happens to calls that an app sends to Cognito through the gateway.
package enum DirectCognitoMode: String, Sendable, CaseIterable {
    /// They are refused, and nothing is sent on.
    case block
}

/// How direct Cognito traffic is told and treated.
package struct DirectCognitoSettings: Sendable {
    package var mode: DirectCognitoMode
    /// Custom domains of pools' hosted sign-in pages, in lower case; Amazon's own domains are known.
    package var hostedDomains: [String]
}

extension DirectCognitoSettings {
    /// Reads `direct_cognito: block`, or the section with its mode and domains.
    init(of file: SettingsMapping) {
        if let node = file.optional("direct_cognito"), !node.isNull, node.isScalar {
            self.init(mode: node.read(.oneOf) ?? .block, hostedDomains: [])
            return
        }
        self = file.section("direct_cognito") { keys in
            Self(
                mode: keys.value("mode", .oneOf, default: .block),
                hostedDomains: keys.list("hosted_domains", .domain, of: "domain names") ?? [])
        }
    }
}

extension ScalarFormat where Value == String {
    /// A host's name without port, brought to lower case.
    fileprivate static var domain: Self {
        Self { (text) throws(ScalarRefusal) in
            guard let (host, port) = HostAndPort.split(text[...]), port == nil, host.contains("."), !host.contains(":")
            else { throw ScalarRefusal("must be a domain name like login.example.com") }
            return host
        }
    }
}
