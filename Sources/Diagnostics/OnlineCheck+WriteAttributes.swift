internal import Clocks
internal import Cognito
internal import Encoding
internal import Gateway
internal import Pipeline
internal import Settings

/// Whether an app client's write permissions are no wider than `writable_attributes`.
///
/// Changing attributes takes an access token and no client secret: who has one can ask Cognito itself, past the
/// gateway. So what decides about access must be out of the app client's reach as well.
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

    /// Whether the machine's AWS credentials may be used there. A signed request shows the id of the key, and a
    /// signature that its receiver can pass on to AWS for some minutes.
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

    /// They decide about access, and the app client may write them.
    let dangerous: [String]
    /// The app client may write them, and the gateway lets nobody.
    let unlisted: [String]
    /// The gateway lets users set them, and Cognito will not.
    let refused: [String]

    init(_ pool: CognitoSettings, clientMayWrite names: [String]) {
        let allowed = pool.signIn.writableAttributes
        dangerous = names.filter { pool.decidingAttributes.contains($0) }
        // Registration gives the address.
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
