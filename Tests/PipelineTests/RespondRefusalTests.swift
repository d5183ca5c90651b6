import Encoding
import HTTPTypes
import Pipeline
import Testing

@Suite("Refusal")
struct RespondRefusalTests {
    static func text(_ refusal: Refusal, _ requestID: String = "id-1") -> String {
        String(decoding: refusal.body(requestID: requestID), as: UTF8.self)
    }

    @Test("The body is the API's one error shape and keeps the reason to itself")
    func body() {
        let refusal = Refusal(.accessDenied, reason: .policy(.groupMissing))
        #expect(
            Self.text(refusal)
                == #"{"error":"AccessDeniedException","message":"You are not allowed to do this.","#
                + #""statusCode":403,"requestId":"id-1"}"#)
    }

    @Test("With 422 each faulty field is named, in order")
    func fields() {
        let refusal = Refusal(
            .invalidParameter, message: "No.", fields: ["password": "is too short", "email": "is required"],
            reason: .request(.noRoute)
        )
        #expect(
            Self.text(refusal)
                == #"{"error":"InvalidParameterException","message":"No.","statusCode":422,"requestId":"id-1","#
                + #""fields":{"email":"is required","password":"is too short"}}"#)
    }

    @Test("Text is escaped as JSON wants it")
    func escaping() {
        let refusal = Refusal(.badRequest, message: "a\"b\\c\n\u{1b}\u{7f}é", reason: .request(.noRoute))
        #expect(Self.text(refusal).contains(#""message":"a\"b\\c\n\u001b\u007fé""#))
    }

    @Test("Every answer is JSON that nobody stores, with its error's status", arguments: GatewayError.allCases)
    func fixedHeaders(error: GatewayError) {
        let response = Refusal(error, reason: .request(.noRoute)).response
        #expect(response.status == error.status)
        #expect(response.headerFields[.contentType] == "application/json")
        #expect(response.headerFields[.cacheControl] == "no-store")
        #expect((response.headerFields[.wwwAuthenticate] != nil) == (response.status.code == 401))
        #expect((response.headerFields[.retryAfter] != nil) == [429, 503].contains(response.status.code))
    }

    @Test("Without a token the challenge is bare, with a bad one it says so")
    func challenges() {
        #expect(Refusal.tokenMissing().response.headerFields[.wwwAuthenticate] == "Bearer")
        let invalid = Refusal.tokenInvalid(.tokenExpired, reason: .token(.expired))
        #expect(invalid.response.headerFields[.wwwAuthenticate] == "Bearer error=\"invalid_token\"")
        #expect(invalid.error == .tokenExpired)
    }

    @Test("405 lists what is allowed, 429 and 503 say when to come back")
    func headers() {
        #expect(Refusal.methodNotAllowed([.get, .head]).response.headerFields[.allow] == "GET, HEAD")
        let throttled = Refusal.retryLater(.tooManyRequests, after: 30, reason: .request(.noRoute))
        #expect(throttled.response.headerFields[.retryAfter] == "30")
        let now = Refusal.retryLater(.serviceUnavailable, after: 0, reason: .request(.noRoute))
        #expect(now.response.headerFields[.retryAfter] == "1")
    }

    @Test("A path's fault is told by status alone")
    func paths() {
        let refusal = Refusal.path(.dotSegment)
        #expect(refusal.error == .badRequest && refusal.reason.code == "path-dot-segment")
        #expect(!Self.text(refusal).contains("dot"))
        #expect(Refusal.path(.tooLong).error.status.code == 414)
        #expect(Refusal.notFound().error.status.code == 404)
    }
}
