package import HTTPTypes

extension Gate {
    /// Lets a sign-in through that one of the gateway's endpoints has judged.
    ///
    /// - Parameters:
    ///   - token: whose sign-in it is, as ``TokenVerifier`` has verified it; nil for one that goes on as nobody's.
    /// - Throws: what becomes of a request whose identity can't be told to the backend.
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
        // Nothing but a verifier makes a proof.
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
