internal import Accounts
internal import HTTPClient
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import ServiceContextModule
internal import Telemetry

/// The gateway's own endpoints: account and session calls, whose bodies are collected first, its key set, and the
/// authorization server metadata.
extension Exchange {
    func collect(_ operation: AccountOperation, _ group: Int, _ token: EndpointToken?) {
        log.subject = token?.valid?.subject
        guard let accounts = service.plan.accounts[group].accounts(for: request.head.authority) else {
            return refuse(.notFound())
        }
        collect(.account(operation, accounts), token)
    }

    func collect(_ operation: AccountOperation, _ token: EndpointToken?) {
        log.subject = token?.valid?.subject
        guard let sessions = service.plan.sessions else {
            return refuse(Refusal(.internalFailure, reason: .request(.endpointWithoutService)))
        }
        if operation.bearer == .judged, case .repeated = BearerToken(of: request.head) {
            return refuse(Refusal(.badRequest, reason: .request(.repeatedAuthorization)))
        }
        collect(.session(operation, sessions), token)
    }

    private func collect(_ target: EndpointCall.Target, _ token: EndpointToken?) {
        let call = EndpointCall(target, token, request.head, requestID: log.requestID, peer: log.clientAddress)
        guard !request.body.exceeds(CollectedCall.bodyLimit) else { return refuseLargeBody() }
        collect(.endpoint(call))
    }

    func collect(_ call: CollectedCall) {
        self.call = call
        if state.collect(limit: CollectedCall.bodyLimit) { performCall() }
    }

    func refuseLargeBody() {
        refuse(Refusal(.payloadTooLarge, reason: .request(.bodyTooLarge)))
    }

    func performCall() {
        switch call {
        case .endpoint(let call): perform(call)
        case .direct(let call): perform(call)
        case nil: break
        }
    }

    /// - Parameter body: the part that makes the call's body exceed the limit.
    func refuseOrPerformCall(tooLongWith body: ByteBuffer) {
        switch call {
        case .endpoint, nil: refuseLargeBody()
        case .direct(let call):
            // One byte above the limit is enough to show that the body is too long. The rest is dropped.
            call.body.append(contentsOf: body.readableBytesView.prefix(CollectedCall.bodyLimit + 1 - call.body.count))
            perform(call)
        }
    }

    /// Returns the request's context for tasks outside the event loop, and counts a call in ``CallsInFlight``. The task
    /// must report the call's end.
    func beginCall() -> CalledRequest {
        let eventLoop = service.eventLoop
        let called = CalledRequest(id: log.requestID) {
            // Runs after the loop has processed the client's pending bytes and a possible end of connection. A loop
            // that has shut down reads none.
            try? await eventLoop.submit {}.get()
        }
        self.called = called
        service.plan.callsUnderWay.begin()
        return called
    }

    private func perform(_ call: EndpointCall) {
        // Needs no I/O: the token contains everything.
        if let answer = call.immediateAnswer { return send(answer) }
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        let question = call.question()
        let called = beginCall()
        Task(executorPreference: call.computesLittle ? service.taskExecutor : nil) {
            [spanContext, name = call.name, calls = service.plan.callsUnderWay] in
            defer { calls.end() }
            let work = WorkInProgress.begin("account call", name)
            defer { WorkInProgress.end(work) }
            let answer = await CalledRequest.$current.withValue(called) {
                await ServiceContext.withValue(spanContext?.serviceContext) { await question() }
            }
            eventLoop.execute { exchange.value.finish(answer, called.waited) }
        }
    }

    private func finish(_ answer: AccountAnswer, _ waited: Duration) {
        guard state.isPerforming, case .endpoint(let call) = call else { return }
        log.waited = waited
        if let forwarding = answer.forwarding { return forward(call, as: forwarding) }
        send(answer)
    }

    /// Forwards a sign-in unchanged to the backend that stores the users and decides about it. The identity that the
    /// endpoint has verified is added.
    private func forward(_ call: EndpointCall, as forwarding: SignInForwarding) {
        guard let routeIndex = log.routeIndex else {
            return refuse(Refusal(.internalFailure, reason: .request(.routeWithoutUpstream)))
        }
        var token: VerifiedToken?
        if case .verified(let verified) = forwarding { token = verified }
        do {
            let permit = try service.plan.gate.permit(signIn: request.head, routeIndex: routeIndex, context(), token)
            forward(permit, collected: ByteBuffer(bytes: call.body))
        } catch {
            refuse(error)
        }
    }

    private func send(_ answer: AccountAnswer) {
        log.subject = answer.subject ?? log.subject
        log.reason = answer.reason
        var head = HTTPResponse(status: answer.status, headerFields: answer.headers)
        head.headerFields[.contentLength] = nil
        let (whole, body) = Refusal.answer(head, answer.body, requestID: log.requestID)
        self.answer(whole, body)
    }

    func answerKeySet() {
        guard let document = service.ownKeySet else {
            return refuse(Refusal(.internalFailure, reason: .request(.endpointWithoutService)))
        }
        let (head, body) = GatewayEndpoint.answer(keySet: document, requestID: log.requestID)
        answer(head, body)
    }

    /// Returns the metadata of the pool that the host selects.
    func answerMetadata(ofGroup group: Int) {
        let accounts = service.plan.accounts[group].accounts(for: request.head.authority)
        guard let metadata = accounts?.authorizationServerMetadata else { return refuse(.notFound()) }
        let (head, body) = GatewayEndpoint.answer(metadata: metadata, requestID: log.requestID)
        answer(head, body)
    }
}
