internal import ACME
internal import Accounts
internal import Admin
internal import Clocks
internal import Listener
internal import Logging
internal import NIOCore
internal import Proxy
internal import Settings
internal import Store
internal import Telemetry

/// Draining and closing of the whole gateway or of a removed listener.
extension RunningGateway {
    /// Lets a removed listener finish its requests.
    func leave(_ listener: HTTPListener, grace: TimeAmount) {
        let id = ObjectIdentifier(listener)
        let drain = Task {
            await listener.drain(grace: grace)
            leaving[id] = nil
        }
        leaving[id] = (listener, drain)
    }

    /// Stops accepting work and finishes the requests in flight, including calls whose clients have disconnected.
    func drain() async {
        isDraining = true
        status.beginDraining()
        logger.info("draining", metadata: ["grace": "\(snapshot.settings.drainTimeout)"])
        let deadline = ContinuousClock.now + snapshot.settings.drainTimeout
        let grace = TimeAmount(snapshot.settings.drainTimeout)
        countLastSteps()
        // Cancelled before the listeners that answer challenges close: a cancelled order stores no failure, but a
        // failed one does.
        background.end { $0 is CertificateService }
        await withTaskGroup(of: Void.self) { tasks in
            for listener in listeners { tasks.addTask { await listener.drain(grace: grace) } }
            for (listener, drain) in leaving.values {
                // Its grace period may be longer than the current one.
                listener.closeAll(after: grace)
                tasks.addTask { await drain.value }
            }
        }
        let calls = maker.callsUnderWay
        // Waited for twice: operators can request changes until the admin listener is closed.
        await calls.wait(until: deadline)
        await admin.drain(grace: .zero)
        await calls.wait(until: deadline)
    }

    /// Cancels the services that end sign-ins at Cognito. Their current steps count as calls, so that the drain waits
    /// for them.
    private func countLastSteps() {
        background.end { $0 is LeftOverSessions || $0 is UnredeemedCodes }
        guard let ending = background.ending else { return }
        let calls = maker.callsUnderWay
        calls.begin()
        Task {
            await ending.value
            calls.end()
        }
    }

    /// Ends everything that remains after ``drain()``, including a reload in progress.
    func close() async {
        await maker.directory.handOverSpans()
        // The last spans are sent while connections are still possible.
        for last in background.end(where: { $0 is TraceService }) { await last.value }
        background.end()
        await maker.directory.close()
        await background.ending?.value
        await noteEnd(hasServed: true)
        snapshot.accessLog?.shutdown()
        snapshot.accountServices?.auditLog.shutdown()
    }

    /// Records the regular end of the process. Requests that are still unanswered took longer than the drain.
    ///
    /// - Parameter hasServed: whether the gateway has served. If false, another process may be using the state, and no
    ///   end is recorded in it.
    func noteEnd(hasServed: Bool) async {
        do {
            try await snapshot.replicas?.end()
            if hasServed { try await snapshot.store?.recordCleanShutdown(now: WallClock.seconds()) }
        } catch {
            // The next start treats the end as a kill, which has no effect on clients.
            logger.warning("the end of the process is not recorded", metadata: ["error": "\(error)"])
        }
    }
}
