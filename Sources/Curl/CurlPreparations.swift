internal import CCurl
internal import Cryptography
internal import NIOCore

/// The prerequisites of a transfer. They are looked up beforehand, since libcurl would block the event loop for them.
struct CurlNeeds {
    enum Trust {
        /// There is no TLS, or the server is known by its key.
        case none
        case system
        case own(TrustedCertificates)
    }

    /// The host whose name must be looked up; nil if there is none.
    var host: HostToLookUp?
    var trust: Trust
    /// The connect timeout, including the lookup, as does `deadline`.
    var connectTimeout: Duration
    var deadline: Duration?

    init(_ access: CurlAccess, url: String, connectTimeout: Duration, deadline: Duration? = nil) {
        host = HostToLookUp(access, url: url)
        let needsCertificates = url.hasPrefix("https:") && !access.trustsKeyAlone
        trust = needsCertificates ? access.certificateAuthorities.map(Trust.own) ?? .system : .none
        self.connectTimeout = connectTimeout
        self.deadline = deadline
    }
}

/// The transfers of an event loop that wait for addresses or certificates.
final class CurlPreparations {
    private struct Waiting {
        var easy: CurlEasy
        var transfer: any CurlTransfer
        var needs: CurlNeeds
        var began: NIODeadline
        var timeout: Scheduled<Void>
    }

    private unowned let loop: CurlLoop
    private let hosts: LoopLookups<String, [String]>
    private let systemTrust: LoopLookups<SystemCertificates.Key, TrustedCertificates>
    private var waiting: [UnsafeMutableRawPointer: Waiting] = [:]
    /// The transfers of `waiting` with all prerequisites that wait for their turn, and some that have been removed
    /// meanwhile.
    private var ready: [CurlEasy] = []
    /// The total weight of the transfers passed to libcurl in this turn. It begins all of them at once, which takes
    /// about 0.1 ms per connection, and 1 ms with TLS.
    private var begun = 0
    private static let mostAtOnce = 64

    init(_ loop: CurlLoop) {
        self.loop = loop
        hosts = LoopLookups(HostAddresses.shared, eventLoop: loop.eventLoop)
        systemTrust = LoopLookups(SystemCertificates.shared, eventLoop: loop.eventLoop)
        hosts.changed = { [unowned self] name in resume { $0.host?.name == name } }
        systemTrust.changed = { [unowned self] _ in resume { _ in true } }
    }

    /// Passes `easy` to libcurl, now or when its prerequisites are available.
    ///
    /// - Throws: ``CurlFailure`` if a lookup has already failed or the transfer cannot be started.
    func begin(_ easy: CurlEasy, for transfer: any CurlTransfer, _ needs: CurlNeeds) throws(CurlFailure) {
        let isReady = try supply(needs, to: easy)
        if isReady, mayBegin(needs) { return try loop.add(easy, for: transfer) }
        let bound = NIOLoopBound((self, easy), eventLoop: loop.eventLoop)
        let timeout = loop.eventLoop.scheduleTask(in: TimeAmount(needs.connectTimeout)) {
            let (preparations, easy) = bound.value
            preparations.end(easy, CURLE_OPERATION_TIMEDOUT)
        }
        waiting[easy.handle] = Waiting(
            easy: easy, transfer: transfer, needs: needs, began: .now(), timeout: timeout)
        if isReady { awaitTurn(easy) }
    }

    private func awaitTurn(_ easy: CurlEasy) {
        ready.append(easy)
        loop.scheduleTurn()
    }

    /// Returns whether another transfer may begin in this turn; if so, counts it.
    private func mayBegin(_ needs: CurlNeeds) -> Bool {
        guard begun < Self.mostAtOnce else { return false }
        if case .none = needs.trust { begun += 1 } else { begun += 8 }
        return true
    }

    /// Continues with transfers that wait for their turn. Called when libcurl has begun all transfers passed to it.
    func beginNext() {
        begun = 0
        while begun < Self.mostAtOnce, !ready.isEmpty {
            let easy = ready.removeFirst()
            if let each = waiting[easy.handle], each.easy === easy { resume(each) }
        }
        if !ready.isEmpty { loop.scheduleTurn() }
    }

    /// - Returns: whether the transfer was waiting here and had not been passed to libcurl.
    func remove(_ easy: CurlEasy) -> Bool {
        guard let known = waiting.removeValue(forKey: easy.handle) else { return false }
        known.timeout.cancel()
        return true
    }

    func close() {
        hosts.close()
        systemTrust.close()
        ready.removeAll()
        for each in Array(waiting.values) { end(each.easy, CURLE_ABORTED_BY_CALLBACK) }
    }

    /// - Returns: false if a lookup is still in progress.
    private func supply(_ needs: CurlNeeds, to easy: CurlEasy) throws(CurlFailure) -> Bool {
        var isComplete = true
        var addresses: [String] = []
        var certificates: TrustedCertificates?
        if let host = needs.host {
            if let known = try hosts.ask(host.name).value { addresses = known } else { isComplete = false }
        }
        switch needs.trust {
        case .none: break
        case .own(let own): certificates = own
        case .system:
            certificates = try systemTrust.ask(SystemCertificates.Key()).value
            if certificates == nil { isComplete = false }
        }
        // Both lookups have been started by now, so neither waits for the other.
        guard isComplete else { return false }
        if let host = needs.host { try easy.set(resolved: host.line(addresses)) }
        if let certificates { try easy.set(trusting: certificates) }
        return true
    }

    /// Continues with the transfers that wait for a lookup that has ended.
    private func resume(where isMeant: (CurlNeeds) -> Bool) {
        // A notified owner may begin or end other transfers.
        for each in waiting.values.filter({ isMeant($0.needs) }) where waiting[each.easy.handle]?.easy === each.easy {
            resume(each)
        }
    }

    private func resume(_ each: Waiting) {
        do {
            guard try supply(each.needs, to: each.easy) else { return }
            guard mayBegin(each.needs) else { return awaitTurn(each.easy) }
            try each.easy.setTimeouts(each.needs, after: .now() - each.began)
            _ = remove(each.easy)
            try loop.add(each.easy, for: each.transfer)
        } catch {
            finish(each, error.result)
        }
    }

    private func end(_ easy: CurlEasy, _ result: CURLcode) {
        guard let each = waiting[easy.handle], each.easy === easy else { return }
        finish(each, result)
    }

    private func finish(_ each: Waiting, _ result: CURLcode) {
        _ = remove(each.easy)
        each.transfer.finished(result)
    }
}

extension LookupReply {
    /// The value; nil while the lookup is in progress.
    fileprivate var value: Value? {
        get throws(CurlFailure) {
            switch self {
            case .use(let value, _): value
            case .wait: nil
            case .fail(let failure): throw failure
            }
        }
    }
}

extension CurlFailure {
    fileprivate var result: CURLcode { code > 0 ? CURLcode(rawValue: UInt32(code)) : CURLE_FAILED_INIT }
}

extension CurlEasy {
    /// Sets the timeouts to the time left after a lookup, and to at least 1 ms: 0 means no timeout to libcurl.
    fileprivate func setTimeouts(_ needs: CurlNeeds, after elapsed: TimeAmount) throws(CurlFailure) {
        let elapsed = Duration.nanoseconds(elapsed.nanoseconds)
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, (needs.connectTimeout - elapsed).wholeMilliseconds))
        if let deadline = needs.deadline {
            try set(CURLOPT_TIMEOUT_MS, max(1, (deadline - elapsed).wholeMilliseconds))
        }
    }
}
