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

/// Draining and ending: of the whole gateway, or of a listener that was taken out.
extension RunningGateway {
    /// Lets a listener that was taken out finish what it has.
    func leave(_ listener: HTTPListener, grace: TimeAmount) {
        let id = ObjectIdentifier(listener)
        let drain = Task {
            await listener.drain(grace: grace)
            leaving[id] = nil
        }
        leaving[id] = (listener, drain)
    }

    /// Takes nothing new and lets what is in flight finish: requests, and calls whose client has gone.
    func drain() async {
        isDraining = true
        status.beginDraining()
        logger.info("draining", metadata: ["grace": "\(snapshot.settings.drainTimeout)"])
        let deadline = ContinuousClock.now + snapshot.settings.drainTimeout
        let grace = TimeAmount(snapshot.settings.drainTimeout)
        countLastSteps()
        // Before the listeners that respond to challenges: a cancelled order stores no failure, one that fails does.
        background.end { $0 is CertificateService }
        await withTaskGroup(of: Void.self) { tasks in
            for listener in listeners { tasks.addTask { await listener.drain(grace: grace) } }
            for (listener, drain) in leaving.values {
                // The time that it was given may have been longer than the one in use.
                listener.closeAll(after: grace)
                tasks.addTask { await drain.value }
            }
        }
        let calls = maker.callsUnderWay
        // The second time for changes that operators have asked for meanwhile.
        await calls.wait(until: deadline)
        await admin.drain(grace: .zero)
        await calls.wait(until: deadline)
    }

    /// Ends the services that end sign-ins at Cognito. The step that each is at counts as a call.
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

    /// Ends what is left after ``drain()``, a reload that is under way included.
    func close() async {
        await maker.directory.handOverSpans()
        // The last spans are sent while there are connections for them.
        for last in background.end(where: { $0 is TraceService }) { await last.value }
        background.end()
        await maker.directory.close()
        await background.ending?.value
        await noteEnd(hasServed: true)
        snapshot.accessLog?.shutdown()
        snapshot.accountServices?.auditLog.shutdown()
    }

    /// Whoever is still without an answer has asked for longer than the drain lasted.
    ///
    /// - Parameter hasServed: otherwise others may be using the state, and nothing is said of it.
    func noteEnd(hasServed: Bool) async {
        do {
            try await snapshot.replicas?.end()
            if hasServed { try await snapshot.store?.endInGoodOrder(now: WallClock.seconds()) }
        } catch {
            // The next start takes it for a kill, which costs nobody anything.
            logger.warning("the end of the process is not recorded", metadata: ["error": "\(error)"])
        }
    }
}
