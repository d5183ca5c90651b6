internal import Pipeline
internal import SettingsReader

extension SettingsMapping {
    /// The maximum number of clients, each of which may cost a call to Cognito for an invalid token.
    private static var mostClients: Int { 8 }

    /// Reads `take_over_sessions`; nil if it is absent.
    ///
    /// - Parameter issuer: the issuer that must name each client, or the gateway would refuse the resulting tokens.
    func sessionTakeover(of issuer: IssuerSettings?) -> SessionTakeover? {
        guard let node = optional("take_over_sessions"), !node.isNull else { return nil }
        return node.section { keys -> SessionTakeover? in
            guard keys.required("client_ids") != nil else { return nil }
            if keys.isEmptyList("client_ids") { keys.error("client_ids", "must name at least one app client") }
            let clientIDs = keys.list("client_ids", .client(of: issuer), of: "app client ids") ?? []
            if clientIDs.count > Self.mostClients {
                keys.error("client_ids", "must name at most \(Self.mostClients) app clients")
            }
            return SessionTakeover(clientIDs: clientIDs)
        } ?? nil
    }
}
