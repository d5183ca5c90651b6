import Cryptography
import Dispatch
import Encoding
import Foundation
import Pipeline
import Synchronization
import Testing

@testable import Telemetry

@Suite("Audit log")
struct AuditLogTests {
    static let hashes = UserHashes(key: Secret([UInt8](repeating: 1, count: 32)))

    static func event(
        _ kind: AuditEventKind = .signedIn, subject: String? = "s-1", device: AuditEvent.Device? = nil,
        application: String = "MyApp/1", reason: String? = nil
    ) -> AuditEvent {
        AuditEvent(
            kind, time: 1_700_000_000_123, requestID: "r-1", subject: subject, account: "Ada@Example.com",
            device: device, address: "192.0.2.7", application: application, operation: "login", reason: reason)
    }

    static func line(_ event: AuditEvent) -> String {
        var encoder = AuditEncoder(hashes)
        var bytes: [UInt8] = []
        encoder.encode(event, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("An event is one line of JSON with all that is known of it")
    func line() throws {
        let text = Self.line(
            Self.event(
                .signInFailed, device: .init(id: "d-1", platform: "ios", appVersion: "4.2"), reason: "bad-credentials"))
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        #expect(
            json == [
                "event": "sign_in_failed", "type": "audit", "time": "2023-11-14T22:13:20.123Z", "request_id": "r-1",
                "operation": "login", "client_address": "192.0.2.7", "application": "MyApp/1",
                "subject_hash": Self.hashes.hash(ofSubject: "s-1"),
                "account_hash": Self.hashes.hash(ofAccount: "ada@example.com"), "device_id": "d-1",
                "device_platform": "ios", "app_version": "4.2", "reason": "bad-credentials",
            ])
    }

    @Test("Apple's guess about a user is in it where there is one")
    func realUserStatus() {
        var event = Self.event()
        #expect(!Self.line(event).contains("real_user_status"))
        event.realUserStatus = "likely_real"
        #expect(Self.line(event).contains(#","real_user_status":"likely_real""#))
    }

    /// Row 88.
    @Test(
        "What a client has chosen cannot begin another line, nor speak to a terminal",
        arguments: ["a\r\nb", "a\u{1b}[31m", "\",\"event\":\"x", "a\u{2028}b", "\u{202e}a", "\u{0}", "\\"])
    func escapes(text: String) throws {
        let line = Self.line(Self.event(device: .init(id: text, platform: text, appVersion: text), reason: text))
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || ("\u{7f}"..."\u{9f}").contains($0) })
        #expect(!line.unicodeScalars.contains { $0 == "\u{2028}" || $0 == "\u{202e}" })
        let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(json["device_id"] == text)
        #expect(json["event"] == "signed_in")
    }

    @Test("A user is in it by a hash that takes a key, the same for the same user")
    func hashing() {
        let text = Self.line(Self.event(subject: "8c3b1c52"))
        #expect(!text.contains("8c3b1c52") && !text.lowercased().contains("ada@"))
        // `printf 'subject\0s-1' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0101…`, its first half.
        #expect(Self.hashes.hash(ofSubject: "s-1") == "0d2781ad621401ce6cd6206296c4e348")
        #expect(Self.hashes.hash(ofAccount: "ADA@example.com") == Self.hashes.hash(ofAccount: "ada@example.com"))
        #expect(Self.hashes.hash(ofAccount: "s-1") != Self.hashes.hash(ofSubject: "s-1"))
        let other = UserHashes(key: Secret([UInt8](repeating: 2, count: 32)))
        #expect(other.hash(ofSubject: "s-1") != Self.hashes.hash(ofSubject: "s-1"))
    }

    @Test("Everything recorded is written, in order, and before it is shut down")
    func writing() {
        let written = Mutex<[UInt8]>([])
        let log = AuditLog(AuditEncoder(Self.hashes)) { lines in
            written.withLock { $0 += lines }
            return 0
        }
        for number in 0..<500 { log.record(Self.event(reason: "n\(number)")) }
        log.shutdown(within: .seconds(60))
        let lines = written.withLock { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
        #expect(lines.count == 500)
        for (number, line) in lines.enumerated() { #expect(line.contains("\"reason\":\"n\(number)\"")) }
        #expect(log.lost == 0)
    }

    @Test("A log that cannot keep up drops and counts")
    func dropping() {
        let log = AuditLog(AuditEncoder(Self.hashes), capacity: 1) { _ in 0 }
        log.flush()
        for _ in 0..<2000 { log.record(Self.event()) }
        log.shutdown(within: .seconds(60))
        #expect(log.lost > 0)
    }

    @Test("What was recorded before a change of place is written where it was to be")
    func change() {
        let (first, second) = (Sink(), Sink())
        let log = AuditLog(AuditEncoder(Self.hashes), write: first.write)
        log.record(Self.event(reason: "before"))
        log.use(AuditEncoder(Self.hashes), write: second.write)
        log.record(Self.event(reason: "after"))
        log.shutdown(within: .seconds(60))
        #expect(first.lines.count == 1 && first.lines[0].contains("before"))
        #expect(second.lines.count == 1 && second.lines[0].contains("after"))
    }

    @Test("A change of place does not wait for a write that stalls, and comes behind what was recorded before")
    func stalledChange() {
        let (first, second, third) = (StalledSink(), Sink(), Sink())
        let log = AuditLog(AuditEncoder(Self.hashes), write: first.write)
        log.record(Self.event(reason: "stalls"))
        first.awaitWrite()
        log.record(Self.event(reason: "waits"))
        let returns = endsInTime {
            log.use(AuditEncoder(Self.hashes)) { _ in 100 }
            log.use(AuditEncoder(Self.hashes), write: second.write)
            log.record(Self.event(reason: "after"))
            log.use(AuditEncoder(Self.hashes)) { $0.count { $0 == 0x0A } }
            log.record(Self.event(reason: "lost"))
            log.use(AuditEncoder(Self.hashes, .text), write: third.write)
            log.record(Self.event(reason: "last"))
        }
        #expect(returns)
        first.open()
        log.shutdown(within: .seconds(60))
        #expect(first.lines.count == 2 && first.lines[0].contains("stalls") && first.lines[1].contains("waits"))
        #expect(second.lines.count == 1 && second.lines[0].contains("after"))
        #expect(third.lines.count == 1 && third.lines[0].hasSuffix("reason=last"))
        #expect(log.lost == 1)
    }

    @Test("Shutting down does not wait for a write that stalls, and counts the events behind it as lost")
    func stalledEnd() {
        let sink = StalledSink()
        let log = AuditLog(AuditEncoder(Self.hashes), write: sink.write)
        log.record(Self.event(reason: "stalls"))
        sink.awaitWrite()
        for _ in 0..<3 { log.record(Self.event(reason: "left")) }
        let returns = endsInTime { log.shutdown() }
        #expect(returns && log.lost == 3)
        sink.open()
        log.shutdown(within: .seconds(60))
        #expect(sink.lines.count == 1 && log.lost == 3)
    }

    @Test("The place before a change is let go without a further record")
    func lettingGo() {
        final class Place: Sendable {
            let isGone: DispatchSemaphore

            init(_ isGone: DispatchSemaphore) { self.isGone = isGone }

            deinit { isGone.signal() }
        }
        let isGone = DispatchSemaphore(value: 0)
        let log = AuditLog(AuditEncoder(Self.hashes)) { [place = Place(isGone)] _ in withExtendedLifetime(place) { 0 } }
        log.use(AuditEncoder(Self.hashes)) { _ in 0 }
        #expect(isGone.wait(timeout: .now() + 10) == .success)
        log.shutdown(within: .seconds(60))
    }

    @Test("For people it is the time, the event, and the rest by name")
    func text() {
        var encoder = AuditEncoder(Self.hashes, .text)
        var bytes: [UInt8] = []
        encoder.encode(Self.event(.signInFailed, subject: nil, reason: "a b\n"), into: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "2023-11-14T22:13:20.123Z audit sign_in_failed request_id=r-1 operation=login "
                + "client_address=192.0.2.7 application=MyApp/1 "
                + "account_hash=\(Self.hashes.hash(ofAccount: "ada@example.com")) reason=\"a b\\n\"")
    }

    @Test("A writer with nothing to write sleeps until it is woken")
    func sleeping() async {
        let (turns, continuation) = AsyncStream.makeStream(of: Void.self)
        let count = Atomic(0)
        let writer = WriterThread(name: "test")
        writer.start(everyMilliseconds: 0) {
            count.add(1, ordering: .relaxed)
            continuation.yield()
            return false
        }
        var iterator = turns.makeAsyncIterator()
        await iterator.next()
        for _ in 0..<100 {
            writer.wake()
            await iterator.next()
        }
        writer.stop()
        #expect(count.load(ordering: .relaxed) == 101)
    }
}
