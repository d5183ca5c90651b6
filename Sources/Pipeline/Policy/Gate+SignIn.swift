package import HTTPTypes

extension Gate {
    /// Permits forwarding a sign-in request that one of the gateway's endpoints has checked.
    ///
    /// - Parameters:
    ///   - token: the user's token, as ``TokenVerifier`` has verified it; nil if the request is forwarded without an
    ///     identity.
    /// - Throws: ``Refusal`` if the identity cannot be sent to the backend, or the path is invalid.
    package func permit(
        signIn request: HTTPRequest, routeIndex: Int, _ context: RequestContext, _ token: VerifiedToken?
    ) throws(Refusal) -> Permit {
        let rule = rules[routeIndex]
        var lines = forwardedLines(request, context)
        if let token { lines += try identityLines(of: token, rule, context) }
        let path: RequestPath
        do {
            path = try RequestPath.parse(request.path ?? "")
        } catch {
            throw .path(error)
        }
        return self.permit(
            request, context, target: path.target, routeIndex: routeIndex, lines: lines, subject: token?.subject,
            dropsAuthorization: token != nil)
    }

    private func identityLines(
        of token: VerifiedToken, _ rule: RouteRule, _ context: RequestContext
    ) throws(Refusal) -> [UInt8] {
        // Only a verifier makes a proof.
        guard token.proof != nil else { throw Refusal(.internalFailure, reason: .token(.badSignature)) }
        guard var lines = try? identity.lines(for: token) else {
            throw .tokenInvalid(reason: .request(.identityTooLarge))
        }
        if let assertion {
            guard let line = assertion.line(for: token, rule, context) else {
                throw Refusal(.internalFailure, reason: .request(.assertionNotSigned))
            }
            lines += line
        }
        return lines
    }
}
