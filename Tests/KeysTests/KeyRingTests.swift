import ClockSteps
import Cryptography
import Foundation
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Key rings")
struct KeyRingTests {
    static let schedule = RotationSchedule(rotateEvery: 1000, publishAhead: 100, keepPrevious: 300)
    static let states: [StoredKey.State] = [.next, .current, .previous]

    /// Makes keys named `0`, `1` and so on.
    final class Maker {
        private(set) var made = 0

        func make() -> NewKey {
            defer { made += 1 }
            return NewKey(id: "\(made)", material: Secret("key \(made)"))
        }
    }

    /// Such as `next 2, current 1, previous 0`.
    static func text(_ ring: KeyRing) -> String {
        ring.keys.map { "\($0.state) \($0.id)" }.joined(separator: ", ")
    }

    let maker = Maker()

    func ring(_ purpose: KeyPurpose = .assertion, at now: Int64 = 0) -> KeyRing {
        var ring = KeyRing(first: maker.make(), now: now)
        _ = ring.advance(now: now, Self.schedule, for: purpose, make: maker.make)
        return ring
    }

    @Test("The first key signs at once, and the next one is published beside it")
    func first() {
        #expect(Self.text(ring()) == "next 1, current 0")
        #expect(Self.text(ring(.sealing)) == "current 2")
    }

    @Test("By age the next key signs, the one before stays for a while, and nothing else changes")
    func byAge() {
        var ring = ring()
        let steps: [(Int64, String)] = [
            (999, "next 1, current 0"), (1000, "next 2, current 1, previous 0"),
            (1299, "next 2, current 1, previous 0"), (1300, "next 2, current 1"),
            (2000, "next 3, current 2, previous 1"), (9000, "next 4, current 3, previous 2"),
        ]
        for (now, expected) in steps {
            let before = ring
            let changed = ring.advance(now: now, Self.schedule, for: .assertion, make: maker.make)
            #expect(Self.text(ring) == expected, "at \(now)")
            #expect(changed == (ring != before))
        }
        #expect(ring.keys.map(\.since) == [9000, 9000, 9000])
    }

    @Test("After a clock was ahead and is set back, keys change no later than their whole times from then on")
    func setBack() {
        var ring = ring()
        _ = ring.advance(now: 1000, Self.schedule, for: .assertion, make: maker.make)
        let ahead = ring.advance(now: 3_456_000, Self.schedule, for: .assertion, make: maker.make)
        #expect(ahead && Self.text(ring) == "next 3, current 2, previous 1")
        _ = ring.advance(now: 2000, Self.schedule, for: .assertion, make: maker.make)
        #expect(Self.text(ring) == "next 3, current 2, previous 1" && ring.keys.map(\.since) == [2000, 2000, 2000])
        _ = ring.advance(now: 2300, Self.schedule, for: .assertion, make: maker.make)
        #expect(Self.text(ring) == "next 3, current 2")
        _ = ring.advance(now: 3000, Self.schedule, for: .assertion, make: maker.make)
        #expect(Self.text(ring) == "next 4, current 3, previous 2")
    }

    @Test(
        "A clock that is wrong for a while takes no key away, and none stays longer for it",
        arguments: ClockSteps.passing)
    func steps(steps: ClockSteps) async {
        let clock = ManualClock()
        let believed = PruningClock(newest: clock.read()) { clock.uptime }
        var ring = KeyRing(first: maker.make(), now: clock.read())
        func advance() {
            _ = ring.advance(now: believed.believed(clock.read()), Self.schedule, for: .assertion, make: maker.make)
        }
        advance()
        ring.rotate(now: clock.read(), for: .assertion, make: maker.make)
        #expect(Self.text(ring) == "next 2, current 1, previous 0")
        await clock.take(steps) { advance() }
        clock.advance(299)
        advance()
        #expect(Self.text(ring) == "next 2, current 1, previous 0")
        clock.advance(1)
        advance()
        #expect(Self.text(ring) == "next 2, current 1")
    }

    @Test("No key signs that was not published long enough, whenever it is asked")
    func publishedFirst() {
        var ring = ring()
        var published: [String: Int64] = [:]
        for now in stride(from: Int64(0), to: 20_000, by: 37) {
            _ = ring.advance(now: now, Self.schedule, for: .assertion, make: maker.make)
            for key in ring.keys where published[key.id] == nil { published[key.id] = now }
            let current = ring.current.map(\.id) ?? ""
            #expect(current == "0" || now - (published[current] ?? now) >= Self.schedule.publishAhead, "at \(now)")
        }
        #expect(maker.made > 15)
    }

    @Test("By age waits for a next key that was made late, as after a rotation by hand")
    func lateNext() {
        var ring = ring()
        let brisk = RotationSchedule(rotateEvery: 50, publishAhead: 100, keepPrevious: 300)
        let changed1 = ring.advance(now: 99, brisk, for: .assertion, make: maker.make)
        #expect(!changed1)
        let changed2 = ring.advance(now: 100, brisk, for: .assertion, make: maker.make)
        #expect(changed2)
        #expect(Self.text(ring) == "next 2, current 1, previous 0")
    }

    @Test("By hand it is the same; a key that others have goes at once")
    func byHand() {
        var ring = ring()
        ring.rotate(now: 10, for: .assertion, make: maker.make)
        #expect(Self.text(ring) == "next 2, current 1, previous 0")
        ring.rotate(now: 20, for: .assertion, discarding: .current, make: maker.make)
        #expect(Self.text(ring) == "next 3, current 2, previous 0")
        #expect(ring.nextIsReady(Self.schedule) == 120)
    }

    @Test("Of sealing keys the newest seals and the others open")
    func sealing() {
        var ring = ring(.sealing)
        ring.rotate(now: 10, for: .sealing, make: maker.make)
        ring.rotate(now: 20, for: .sealing, make: maker.make)
        #expect(Self.text(ring) == "current 2, previous 1, previous 0")
        let changed3 = ring.advance(now: 310, Self.schedule, for: .sealing, make: maker.make)
        #expect(changed3)
        #expect(Self.text(ring) == "current 2, previous 1")
    }

    @Test("A key stays as long as the settings said while it signed, or longer if they say so", arguments: [50, 400])
    func otherTime(keepPrevious: Int64) throws {
        var ring = ring()
        ring.rotate(now: 10, for: .assertion, make: maker.make)
        let end = 10 + max(keepPrevious, Self.schedule.keepPrevious)
        let changed = RotationSchedule(rotateEvery: 1000, publishAhead: 100, keepPrevious: keepPrevious)
        for (now, expected) in [
            (10, "next 2, current 1, previous 0"), (end - 1, "next 2, current 1, previous 0"),
            (end, "next 2, current 1"),
        ] as [(Int64, String)] {
            ring = try KeyRing(decoding: ring.encoded(for: .assertion), for: .assertion)
            _ = ring.advance(now: now, changed, for: .assertion, make: maker.make)
            #expect(Self.text(ring) == expected, "at \(now)")
        }
    }

    @Test("A key that nothing has advanced is kept for the longest time that it was used by")
    func usedByOther() {
        var ring = KeyRing(first: maker.make(), now: 0)
        ring.use(by: RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 400))
        let shorter = RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 50)
        ring.use(by: shorter)
        ring.rotate(now: 10, for: .sealing, make: maker.make)
        for (now, count) in [(409, 2), (410, 1)] as [(Int64, Int)] {
            _ = ring.advance(now: now, shorter, for: .sealing, make: maker.make)
            #expect(ring.keys.count == count, "at \(now)")
        }
    }

    @Test("The keys of a file are kept for the longest lifetime that a gateway has used them by")
    func fileIsUsed() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let storage = KeyRings(stateDirectory: path)[.sealing]
        for keepPrevious in [50, 400, 50] as [Int64] {
            let schedule = RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: keepPrevious)
            _ = try await SealingKeys.ring(storage, usedBy: schedule)
        }
        #expect(try await storage.read()?.current?.keptFor == 400)
    }

    @Test("A clock that goes back changes no key")
    func backwards() {
        var ring = ring(at: 5000)
        let text = Self.text(ring)
        _ = ring.advance(now: 10, Self.schedule, for: .assertion, make: maker.make)
        #expect(Self.text(ring) == text)
    }

    @Test("What is no ring is none")
    func invalid() {
        func key(_ id: String, _ state: StoredKey.State) -> StoredKey {
            NewKey(id: id, material: Secret("k")).stored(state, at: 0)
        }
        #expect(KeyRing([]) == nil)
        #expect(KeyRing([key("a", .previous)]) == nil)
        #expect(KeyRing([key("a", .current), key("b", .current)]) == nil)
        #expect(KeyRing([key("a", .current), key("b", .next), key("c", .next)]) == nil)
        #expect(KeyRing([key("a", .current), key("a", .previous)]) == nil)
        #expect(
            KeyRing([key("a", .previous), key("b", .current), key("c", .next)]).map(Self.text)
                == "next c, current b, previous a")
    }
}
