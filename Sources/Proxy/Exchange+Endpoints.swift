internal import Accounts
internal import HTTPClient
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import ServiceContextModule
internal import Telemetry

/// The gateway's own endpoints: account and session calls, whose bodies are collected first, and its key set.
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

    /// - Parameter body: the part with which the call's body is too long.
    func refuseOrPerformCall(tooLongWith body: ByteBuffer) {
        switch call {
        case .endpoint, nil: refuseLargeBody()
        case .direct(let call):
            // A byte more than is taken shows that there is too much. The rest is not kept.
            call.body.append(contentsOf: body.readableBytesView.prefix(CollectedCall.bodyLimit + 1 - call.body.count))
            perform(call)
        }
    }

    /// The request as those know it who work for it beside the loop. It is counted as a call under way, whose end the
    /// task reports.
    func beginCall() -> CalledRequest {
        let eventLoop = service.eventLoop
        let called = CalledRequest(id: log.requestID) {
            // After the client's bytes that the loop has begun to read, and their end. A loop that has ended reads none.
            try? await eventLoop.submit {}.get()
        }
        self.called = called
        service.plan.callsUnderWay.begin()
        return called
    }

    private func perform(_ call: EndpointCall) {
        // Nothing of it waits: the token says it all.
        if let answer = call.immediateAnswer { return send(answer) }
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        let question = call.question()
        let called = beginCall()
        Task(executorPreference: call.computesLittle ? service.taskExecutor : nil) {
            [spanContext, name = call.name, calls = service.plan.callsUnderWay] in
            defer { calls.end() }
            let work = WorkUnderWay.begin("account call", name)
            defer { WorkUnderWay.end(work) }
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

    /// A sign-in that the backend keeping the users decides about gets there as it came, with the identity that the
    /// endpoint has verified.
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

    /// Of the pool that the host belongs to.
    func answerMetadata(ofGroup group: Int) {
        let accounts = service.plan.accounts[group].accounts(for: request.head.authority)
        guard let metadata = accounts?.authorizationServerMetadata else { return refuse(.notFound()) }
        let (head, body) = GatewayEndpoint.answer(metadata: metadata, requestID: log.requestID)
        answer(head, body)
    }
}
