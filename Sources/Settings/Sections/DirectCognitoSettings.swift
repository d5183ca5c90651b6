/// What happens to calls that an app sends to Cognito through the gateway.
package enum DirectCognitoMode: String, Sendable, CaseIterable {
    /// They are refused, and nothing is sent on.
    case block
    /// Those that apps make for their own users are carried out with the client secret added.
    case translate
}

/// How direct Cognito traffic is told and treated.
package struct DirectCognitoSettings: Sendable {
    package var mode: DirectCognitoMode
    /// Custom domains of pools' hosted sign-in pages, in lower case; Amazon's own domains are known.
    package var hostedDomains: [String]
    /// With ``DirectCognitoMode/translate``: app clients that released apps name beside `sign_in.cognito.client_id`.
    package var clientIDs: [String]
}

extension DirectCognitoSettings {
    /// Reads `direct_cognito: block`, or the section with its mode and domains.
    ///
    /// - Parameter signIn: what calls are carried out with.
    init(of file: SettingsMapping, signIn: SignInSettings) {
        if let node = file.optional("direct_cognito"), !node.isNull, node.isScalar {
            self.init(mode: Self.mode(node, in: file), hostedDomains: [], clientIDs: [])
            return
        }
        self = file.section("direct_cognito") { keys in
            Self(
                mode: keys.optional("mode").map { Self.mode($0, in: file) } ?? .block,
                hostedDomains: keys.list("hosted_domains", .domain, of: "domain names") ?? [],
                clientIDs: Self.clientIDs(keys, signIn))
        }
    }

    private static func mode(_ node: SettingsNode, in file: SettingsMapping) -> DirectCognitoMode {
        guard let mode: DirectCognitoMode = node.read(.oneOf) else { return .block }
        if mode == .translate, !file.has("sign_in") {
            node.fault("translate needs sign_in.cognito: calls are carried out with its client and secret")
        }
        return mode
    }

    private static func clientIDs(_ keys: SettingsMapping, _ signIn: SignInSettings) -> [String] {
        let clientIDs = keys.list("client_ids", .identifier, of: "app client ids") ?? []
        if let own = signIn.cognito?.clientID, clientIDs.contains(own) {
            keys.fault("client_ids", "\(own) is sign_in.cognito.client_id, which needs no mention here")
        }
        return clientIDs
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
