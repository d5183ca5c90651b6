internal import Pipeline
internal import SettingsReader

/// The treatment of calls that an app sends to Cognito through the gateway.
package enum DirectCognitoMode: String, Sendable, CaseIterable {
    /// Calls are refused, and nothing is forwarded.
    case block
    /// Calls of apps for their own users are forwarded with the client secret added.
    case translate
}

/// The detection and treatment of direct Cognito traffic.
package struct DirectCognitoSettings: Sendable {
    package var mode: DirectCognitoMode
    /// Custom domains of the pools' hosted sign-in pages, in lower case. Amazon's own domains are built in.
    package var hostedDomains: [String]
    /// With ``DirectCognitoMode/translate``: further app clients that released apps name, besides
    /// `sign_in.cognito.client_id`.
    package var clientIDs: [String]
}

extension DirectCognitoSettings {
    /// Reads `direct_cognito: block`, or the section with its mode and domains.
    ///
    /// - Parameter signIn: the sign-in settings that translated calls use.
    init(of file: SettingsMapping, signIn: SignInSettings, known: KnownNames) {
        if let node = file.optional("direct_cognito"), !node.isNull, node.isScalar {
            self.init(mode: Self.mode(node, signIn), hostedDomains: [], clientIDs: [])
            return
        }
        self = file.section("direct_cognito") { keys in
            let mode = keys.optional("mode").map { Self.mode($0, signIn) } ?? .block
            return Self(
                mode: mode,
                hostedDomains: keys.list("hosted_domains", .domain, of: "domain names") ?? [],
                clientIDs: Self.clientIDs(keys, mode, signIn, known))
        }
    }

    private static func mode(_ node: SettingsNode, _ signIn: SignInSettings) -> DirectCognitoMode {
        guard let mode: DirectCognitoMode = node.read(.oneOf) else { return .block }
        if mode == .translate, !signIn.namesPool {
            node.error("translate needs sign_in.cognito: calls are carried out with its client and secret")
        }
        return mode
    }

    /// The issuer must name the clients, or the gateway would refuse their tokens itself.
    private static func clientIDs(
        _ keys: SettingsMapping, _ mode: DirectCognitoMode, _ signIn: SignInSettings, _ known: KnownNames
    ) -> [String] {
        let issuer = signIn.pools.first.flatMap { known.issuer(named: $0.issuer) }
        let clientIDs =
            keys.list("client_ids", .client(of: mode == .translate ? issuer : nil), of: "app client ids") ?? []
        if mode == .block, !clientIDs.isEmpty {
            keys.error("client_ids", "are served by mode: translate only")
        }
        if let own = signIn.cognito?.signIn.clientID, clientIDs.contains(own) {
            keys.error("client_ids", "\(own) is sign_in.cognito.client_id, which needs no mention here")
        }
        return clientIDs
    }
}

extension ScalarFormat where Value == String {
    /// The id of an app client.
    ///
    /// - Parameter issuer: the issuer that must name the client; nil: any id is accepted.
    static func client(of issuer: IssuerSettings?) -> Self {
        Self { (text) throws(ScalarRefusal) in
            let clientID = try identifier.read(text)
            if let issuer, let named = issuer.pool?.clientIDs, !named.contains(clientID) {
                throw ScalarRefusal("must be one of issuers.\(issuer.name).client_ids")
            }
            return clientID
        }
    }
}
