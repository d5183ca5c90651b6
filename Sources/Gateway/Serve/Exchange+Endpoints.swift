internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import SignIn

/// The gateway's own endpoints: account calls, whose bodies are collected first, and its key set.
extension Exchange {
    func collect(_ operation: AccountOperation, _ group: Int, _ token: VerifiedToken?) {
        log.subject = token?.subject
        guard let accounts = service.plan.accounts[group].accounts(for: request.head.authority) else {
            return refuse(.notFound())
        }
        let call = EndpointCall(
            operation, of: accounts, token, request.head, requestID: log.requestID, peer: log.clientAddress)
        if case .length(let length) = request.body, length > Self.endpointBodyLimit { return refuseLargeBody() }
        state = .collecting(call)
        if request.body == .none { perform(call) }
    }

    func refuseLargeBody() {
        refuse(Refusal(.payloadTooLarge, reason: "body-too-large"))
    }

    func perform(_ call: EndpointCall) {
        let accounts = call.accounts
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        let accountRequest = call.accountRequest()
        Task { [spanScope] in
            let answer = await SpanScope.within(spanScope) { await accounts.answer(accountRequest) }
            eventLoop.execute { exchange.value.finish(answer) }
        }
    }

    private func finish(_ answer: AccountAnswer) {
        guard case .collecting = state else { return }
        log.subject = answer.subject ?? log.subject
        log.reason = answer.reason
        var head = HTTPResponse(status: answer.status, headerFields: answer.headers)
        head.headerFields[.contentLength] = nil
        let (whole, body) = Refusal.answer(head, answer.body, requestID: log.requestID)
        self.answer(whole, body)
    }

    func answerKeySet() {
        guard let keys = service.assertionKeys else {
            return refuse(Refusal(.internalFailure, reason: "endpoint-without-service"))
        }
        let (head, body) = keys.answer(requestID: log.requestID)
        answer(head, body)
    }
}
