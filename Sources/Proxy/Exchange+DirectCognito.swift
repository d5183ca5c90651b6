internal import Accounts
internal import HTTPClient
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import ServiceContextModule
internal import Telemetry

/// A direct Cognito call while its body is collected.
final class DirectCall {
    let call: DirectCognitoCall
    var body: [UInt8] = []

    init(_ call: DirectCognitoCall) {
        self.call = call
    }
}

/// Direct Cognito calls of apps: refused, or carried out for the app. They never go to a backend.
extension Exchange {
    func take(_ call: DirectCognitoCall) {
        service.metrics.directCognitoCall(operation: call.operation)
        guard let calls = service.plan.directCalls else { return refuseDirect(call) }
        // Any other call without an operation is for a page or a tunnel at Cognito's address.
        let isCarriedOut =
            call.operation == nil ? call.hostedPath != nil && calls.servesHosted : request.head.method == .post
        guard isCarriedOut else { return refuseDirect(call) }
        collect(.direct(DirectCall(call)))
    }

    private func refuseDirect(_ call: DirectCognitoCall) {
        count(call, refused: true)
        log.reason = .request(.directCognito)
        // Refused calls have no rate limit, so they must not cost a write to the store.
        service.plan.audit?.recordLocally(event(of: call, reason: .request(.directCognito)))
        let answer = service.plan.directCognito
        let (head, body) = Refusal.answer(
            answer.response(requestID: log.requestID), answer.body, requestID: log.requestID)
        self.answer(head, body)
    }

    private func count(_ call: DirectCognitoCall, refused: Bool) {
        service.plan.directApplications.count(
            call.application, operation: call.operation, refused: refused, now: log.startedAt / 1000)
    }

    func perform(_ collected: DirectCall) {
        guard let calls = service.plan.directCalls else { return refuseDirect(collected.call) }
        let request = DirectCognitoRequest(
            call: collected.call, body: collected.body, requestID: log.requestID, clientAddress: log.clientAddress,
            userAgent: self.request.head.headerFields[.userAgent])
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        let called = beginCall()
        var hosted: DirectHostedRequest?
        if case nil = request.call.operation, let path = request.call.hostedPath {
            hosted = DirectHostedRequest(request, path, self.request.head)
        }
        Task { [spanContext, hosted, underWay = service.plan.callsUnderWay] in
            defer { underWay.end() }
            let work = WorkInProgress.begin("direct call", request.call.operation ?? "none")
            defer { WorkInProgress.end(work) }
            let reply = await CalledRequest.$current.withValue(called) {
                await ServiceContext.withValue(spanContext?.serviceContext) {
                    if let hosted { await calls.answer(hosted) } else { await calls.answer(request) }
                }
            }
            eventLoop.execute { exchange.value.finish(reply, of: request.call, called.waited) }
        }
    }

    private func finish(_ reply: DirectCognitoReply, of call: DirectCognitoCall, _ waited: Duration) {
        // The call is counted and audited even if its client has disconnected, because it has already taken effect.
        count(call, refused: !reply.wasAsked)
        let event = event(of: call, reason: reply.reason, account: reply.account, subject: reply.subject)
        if reply.wasAsked {
            service.plan.audit?.recordWithoutWaiting(event)
        } else {
            service.plan.audit?.recordLocally(event)
        }
        guard state.isPerforming else { return }
        log.waited = waited
        log.reason = reply.reason
        log.subject = reply.subject
        let (head, body) = Refusal.answer(
            HTTPResponse(status: reply.status, headerFields: reply.headers), reply.body, requestID: log.requestID)
        answer(head, body)
    }

    private func event(
        of call: DirectCognitoCall, reason: Reason?, account: String? = nil, subject: String? = nil
    ) -> AuditEvent {
        AuditEvent(
            .directCognito, time: log.startedAt, requestID: log.requestID, subject: subject, account: account,
            address: log.clientAddress, application: call.application, operation: call.operation ?? "none",
            reason: reason?.code, trace: log.trace?.ids)
    }
}
