internal import Encoding
package import HTTPTypes

/// Finds requests that are meant for Cognito itself instead of the gateway's own sign-in or the backend.
///
/// These requests count: an `X-Amz-Target` of the user-pools API; a `Host`, `:authority`, absolute-form target or
/// CONNECT target that is Cognito's API, a hosted domain or a configured one; a SigV4 `Authorization` scoped to
/// `cognito-idp`.
package struct CognitoGuard: Sendable {
    private let hosts: CognitoHost

    /// - Parameters:
    ///   - hostedDomains: the pools' custom domains; `*.auth.*.amazoncognito.com` and the like are built in.
    ///   - endpoints: further addresses of Cognito's API, as a host (on any port), `host:port` or URL.
    package init(hostedDomains: [String] = [], endpoints: [String] = []) {
        hosts = CognitoHost(hostedDomains: hostedDomains, endpoints: endpoints)
    }

    /// The call to Cognito that the request makes; nil for every other request.
    ///
    /// The authority of an absolute-form target must be in `request.authority`, as the HTTP/1.1 codec puts it.
    package func inspect(_ request: HTTPRequest) -> DirectCognitoCall? {
        var (isDirect, namesHost) = (false, false)
        if let authority = request.authority { namesHost = hosts.matches(authority) }
        var operation: String?
        for field in request.headerFields {
            let name = field.name.canonicalName
            switch name.utf8.count {
            case 4 where name == "host":
                if hosts.matches(field.value) { namesHost = true }
            case 12 where name == "x-amz-target":
                guard let target = Self.operation(of: field.value) else { continue }
                // A request with two operations is counted as `other`.
                operation = operation == nil ? DirectCognitoCall.boundedOperation(target) : DirectCognitoCall.other
                isDirect = true
            case 13 where name == "authorization":
                if Self.isSignedForCognito(field.value.utf8.span) { isDirect = true }
            default: continue
            }
        }
        guard isDirect || namesHost else { return nil }
        let userAgent = request.headerFields[values: .userAgent].first
        var call = DirectCognitoCall(
            operation: operation, application: DirectCognitoCall.application(fromUserAgent: userAgent))
        if namesHost { call.hostedPath = HostedPath(of: request) }
        return call
    }

    /// The operation that follows the service's name in an `X-Amz-Target`; nil if the target names another service.
    private static func operation(of target: String) -> Substring? {
        let bytes = target.utf8.span
        let start = bytes.leadingSpaces
        let service = "awscognitoidentityproviderservice."
        guard bytes.matchesIgnoringCase(service.utf8.span, at: start) else { return nil }
        return Substring(target.utf8.dropFirst(start + service.utf8.count))
    }

    /// Whether the value is an AWS signature whose credential scope names `cognito-idp`:
    /// `AWS4-HMAC-SHA256 Credential=…/20260101/eu-west-1/cognito-idp/aws4_request, …`.
    private static func isSignedForCognito(_ value: borrowing Span<UInt8>) -> Bool {
        guard value.matchesIgnoringCase("aws4-".utf8.span, at: value.leadingSpaces) else { return false }
        for index in value.indices where value[index] == UInt8(ascii: "/") {
            if value.matchesIgnoringCase("/cognito-idp/".utf8.span, at: index) { return true }
        }
        return false
    }
}
