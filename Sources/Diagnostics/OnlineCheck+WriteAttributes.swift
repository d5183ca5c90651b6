internal import Clocks
internal import Cognito
internal import Encoding
internal import Gateway
internal import Pipeline
internal import Settings

/// The check that an app client's write permissions are no wider than `writable_attributes`.
///
/// Changing attributes needs an access token but no client secret: its holder can call Cognito directly, bypassing the
/// gateway. Attributes that decide about access must therefore be read-only for the app client as well.
extension OnlineCheck {
    func writeProbe(
        _ subject: String, _ pool: CognitoSettings, _ session: FetchSession
    ) async throws -> Probe {
        let subject = "\(subject).writable_attributes"
        guard pool.endpoint.mayBeSignedFor(region: pool.region) else {
            return Probe(subject: subject) {
                (
                    true,
                    "not checked: \(pool.endpoint) is neither AWS's nor on this machine, and is not shown AWS credentials"
                )
            }
        }
        let credentials = Wiring.awsCredentials(try await session.fetcher(plain: true, privately: true))
        let client = CognitoClient(
            endpoint: pool.endpoint.description, fetcher: try await session.fetcher(plain: pool.endpoint.isPlain),
            deadline: pool.signIn.deadline,
            signer: RequestSigner(
                region: pool.region, credentials: credentials, now: { WallClock.seconds() }))
        return Probe(subject: subject) {
            let output: JSONObject
            do throws(CognitoError) {
                output = try await client.call(
                    .describeUserPoolClient,
                    ["UserPoolId": .string(pool.signIn.poolID), "ClientId": .string(pool.signIn.clientID)])
            } catch {
                let need = "that takes AWS credentials that allow cognito-idp:DescribeUserPoolClient"
                return (
                    true, "not compared with the app client's write permissions: \(need) (\(error.kind.rawValue))"
                )
            }
            let names = output["UserPoolClient"]?["WriteAttributes"]?.arrayValue?.compactMap(\.stringValue)
            return WriteComparison(pool, clientMayWrite: names ?? WriteComparison.standard).finding
        }
    }
}

extension ServiceURL {
    private static let loopbacks = ["127.0.0.0/8", "::1"].compactMap { try? IPNetwork($0) }

    /// Whether requests to this URL may be signed with the machine's AWS credentials. A signed request reveals the key
    /// id, and its receiver can replay the signature to AWS for some minutes.
    fileprivate func mayBeSignedFor(region: String) -> Bool {
        if AWSPartition.isCognitoAPI(host, region: region) { return !isPlain }
        guard let address = IPAddress(host) else { return host.hasSameBytes(as: "localhost") }
        return Self.loopbacks.contains { $0.contains(address) }
    }
}

/// The attributes that a pool's users may set through the gateway, compared with those that the app client may write.
struct WriteComparison {
    /// The standard attributes: an app client may write them unless its permissions are set.
    static let standard = WritableAttributes.standard.names + ["email", "preferred_username", "updated_at"]

    /// Attributes that decide about access and that the app client may write.
    let dangerous: [String]
    /// Attributes that the app client may write, but nobody through the gateway.
    let unlisted: [String]
    /// Attributes that users may set through the gateway, but that Cognito refuses.
    let refused: [String]

    init(_ pool: CognitoSettings, clientMayWrite names: [String]) {
        let allowed = pool.signIn.writableAttributes
        dangerous = names.filter { pool.decidingAttributes.contains($0) }
        // The address is set at registration.
        unlisted = names.filter { !allowed.contains($0) && $0 != "email" && !pool.decidingAttributes.contains($0) }
        refused = allowed.names.filter { !names.contains($0) }
    }

    var finding: (isGood: Bool, text: String) {
        var parts: [String] = []
        if !dangerous.isEmpty {
            parts.append(
                "the app client may write \(dangerous.joined(separator: ", ")), by which access is decided: whoever has an "
                    + "access token can set it at Cognito itself")
        }
        if !unlisted.isEmpty {
            parts.append("the app client may also write \(unlisted.joined(separator: ", ")), which is not listed")
        }
        if !refused.isEmpty {
            parts.append("the app client may not write \(refused.joined(separator: ", ")), which is listed")
        }
        if parts.isEmpty { parts.append("as the app client's write permissions") }
        return (dangerous.isEmpty, parts.joined(separator: "; "))
    }
}
