import Foundation
import Testing

@testable import AppAudit

@Suite("Archives")
struct ArchiveTests {
    typealias Entry = ZipBuilder.Entry

    private static let configuration = #"{ "PoolId": "eu-west-1_AbCdEfGhI" }"#
    private static let found = Entry("assets/a.json", configuration)

    private func report(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits()) -> AuditReport {
        ArchiveAudit(scanner: .standard, limits: limits).report(on: ArchiveBytes(bytes), path: "app.apk")
    }

    @Test("Stored and deflated entries are read, and findings name archive and entry")
    func entries() {
        let result = report(ZipBuilder(Self.found, Self.found.with { $0.name = "b.json" }.inBlocks()).bytes)
        #expect(result.findings.map(\.path) == ["app.apk!/assets/a.json", "app.apk!/b.json"])
        #expect(result.findings.allSatisfy { $0.rule == .userPoolID && $0.line == 1 })
        #expect(result.filesRead == 2 && result.notRead.isEmpty)
    }

    @Test("Nothing in an archive is a test, and directories and images are passed over")
    func roles() {
        let names = ["tests/A.json", "tests/", "b.png", "a.test.json"]
        var builder = ZipBuilder()
        builder.entries = names.map { Entry($0, $0.hasSuffix("/") ? "" : Self.configuration) }
        let result = report(builder.bytes)
        #expect(result.findings.map(\.context) == [.code, .code] && result.filesRead == 2)
    }

    @Test(
        "A program is read whatever its name, and no other file of an unknown kind",
        arguments: ["Acme.app/Acme", "Acme.com.app/Acme.com", "Foo.Bar.framework/Foo.Bar", "Acme.app/.acme"])
    func programs(name: String) {
        let program: [UInt8] = [0xCF, 0xFA, 0xED, 0xFE, 0] + Array("AWSCognitoIdentityUserPool".utf8) + [0]
        let other = Entry("Payload/other.com", Self.configuration)
        let result = report(ZipBuilder(Entry("Payload/\(name)", program), other).bytes)
        #expect(result.findings.map(\.path) == ["app.apk!/Payload/\(name)"])
        #expect(result.filesRead == 1 && result.notRead.isEmpty)
    }

    /// Archives as a whole that are not read.
    private static let refused: [(String, [UInt8], ArchiveError)] = [
        ("no archive", Array("PK and more".utf8), .notAnArchive),
        ("empty", [], .notAnArchive),
        ("truncated", Array(ZipBuilder(found).bytes.dropLast(3)), .notAnArchive),
        ("without its beginning", Array(ZipBuilder(found).bytes.dropFirst(3)), .damaged),
        ("a byte too much", ZipBuilder(found).bytes + [0], .notAnArchive),
        ("more entries than there are", ZipBuilder(found).with { $0.count = 2 }.bytes, .damaged),
        ("fewer entries than there are", ZipBuilder(found, found).with { $0.count = 1 }.bytes, .damaged),
        ("a gap before the end record", ZipBuilder(found).with { $0.gap = 20 }.bytes, .damaged),
        ("ZIP64 by its count", ZipBuilder(found).with { $0.count = 0xFFFF }.bytes, .zip64),
        ("ZIP64 by a size", ZipBuilder(found.with { $0.size = 0xFFFF_FFFF }).bytes, .zip64),
        ("one header for two entries", ZipBuilder(found, found.with { $0.offset = 0 }).bytes, .overlapping),
        ("a header behind the entries", ZipBuilder(found.with { $0.offset = 1 << 20 }).bytes, .overlapping),
    ]

    @Test("An archive with more than one reading is refused", arguments: refused)
    func refusedArchive(_ name: String, bytes: [UInt8], error: ArchiveError) {
        let result = report(bytes)
        #expect(result.notRead == [UnreadFile(path: "app.apk", reason: .archive(error))])
        #expect(result.findings.isEmpty && !result.isGood(failingOn: .error))
    }

    /// Entries that are not read, while others are.
    private static let unread: [(String, Entry, ArchiveError)] = [
        ("encrypted", found.with { $0.flags = 1 }, .encrypted),
        ("another method", found.with { $0.method = 99 }, .unknownMethod),
        ("a wrong checksum", found.with { $0.crc32 = 1 }, .damaged),
        ("a wrong checksum of deflated bytes", found.inBlocks().with { $0.crc32 = 1 }, .damaged),
        ("a size too small", found.inBlocks().with { $0.size = 3 }, .damaged),
        ("a size too large", found.inBlocks().with { $0.size = 300 }, .damaged),
        ("stored with another size", found.with { $0.size = 300 }, .damaged),
        ("no deflated data", found.with { $0.deflated = [7, 7, 7] }, .damaged),
        ("deflated data that ends early", found.inBlocks().with { $0.deflated?.removeLast(4) }, .damaged),
        ("another name in its own header", found.with { $0.otherName = "assets/b.json" }, .damaged),
        ("a size over the limit", found.inBlocks().with { $0.size = 2 << 30 }, .entryTooLarge),
    ]

    @Test("A damaged or hostile entry is reported, and the others are read", arguments: unread)
    func unreadEntry(_ name: String, entry: Entry, error: ArchiveError) {
        let result = report(ZipBuilder(entry, Entry("b.json", Self.configuration)).bytes)
        #expect(result.notRead == [UnreadFile(path: "app.apk!/assets/a.json", reason: .archive(error))])
        #expect(result.findings.map(\.path) == ["app.apk!/b.json"])
    }

    @Test("A large entry that no rule is about is passed over; a large program is reported", arguments: [true, false])
    func largeEntries(isOverTotal: Bool) {
        var limits = ArchiveLimits()
        if isOverTotal { limits.maximumTotalBytes = 1 << 18 } else { limits.maximumEntryBytes = 1 << 18 }
        let film = [UInt8](repeating: 1, count: 1 << 19)
        for isDeflated in [true, false] {
            func report(_ name: String, _ contents: [UInt8]) -> AuditReport {
                let entry = Entry(name, contents)
                return self.report(ZipBuilder(isDeflated ? entry.inBlocks() : entry).bytes, limits: limits)
            }
            #expect(report("assets/film.pak", film).notRead.isEmpty)
            let error: ArchiveError = isOverTotal ? .totalTooLarge : .entryTooLarge
            let program = [0xCF, 0xFA, 0xED, 0xFE] + film
            #expect(report("Acme.app/Acme", program).notRead.map(\.reason) == [.archive(error)])
            #expect(report("assets/film.json", film).notRead.map(\.reason) == [.archive(error)])
        }
    }

    @Test(
        "An entry whose path leads out is reported and not read",
        arguments: ["../a.json", "a/../../a.json", "/a.json", "a\\b.json"])
    func outside(name: String) {
        let result = report(ZipBuilder(Entry(name, Self.configuration)).bytes)
        #expect(result.notRead.map(\.reason) == [.archive(.outside)] && result.findings.isEmpty)
    }

    @Test("Of two entries with one path, the second is reported and not read")
    func repeated() {
        let result = report(ZipBuilder(Self.found, Self.found).bytes)
        #expect(result.notRead.map(\.reason) == [.archive(.repeated)] && result.findings.count == 1)
    }

    @Test("An entry larger than what the archive may still expand to is not expanded", arguments: [true, false])
    func noBudget(isDeflated: Bool) throws {
        let archive = ArchiveBytes(ZipBuilder(isDeflated ? Self.found.inBlocks() : Self.found).bytes)
        let directory = try ZipDirectory(archive, limits: ArchiveLimits())
        let contents = ZipContents(try #require(directory.entries.first), in: archive, limits: ArchiveLimits())
        var budget = 10
        #expect(throws: ArchiveError.totalTooLarge) { try contents.forEachPiece(budget: &budget) { _ in true } }
        #expect(budget == 10)
    }

    @Test("Archives inside archives are read up to the depth")
    func nested() {
        var inner = Self.found
        for depth in 1...3 { inner = Entry("\(depth).apk", ZipBuilder(inner).bytes) }
        let result = report(ZipBuilder(inner).bytes)
        #expect(result.notRead == [UnreadFile(path: "app.apk!/3.apk!/2.apk!/1.apk", reason: .archive(.tooDeep))])
        let two = report(
            ZipBuilder(Entry("a.apk", ZipBuilder(Entry("b.aar", ZipBuilder(Self.found).bytes)).bytes)).bytes)
        #expect(two.findings.map(\.path) == ["app.apk!/a.apk!/b.aar!/assets/a.json"])
    }

    @Test("The limits hold for entries, ratio, total and archives inside")
    func limits() {
        var limits = ArchiveLimits()
        limits.maximumEntries = 1
        #expect(
            report(ZipBuilder(Self.found, Self.found).bytes, limits: limits).notRead.map(\.reason) == [
                .archive(.tooManyEntries)
            ])
        limits = ArchiveLimits()
        limits.maximumTotalBytes = 50
        let two = ZipBuilder(Self.found.inBlocks(), Self.found.with { $0.name = "b.json" })
        #expect(report(two.bytes, limits: limits).notRead.map(\.reason) == [.archive(.totalTooLarge)])
        limits = ArchiveLimits()
        limits.maximumInnerBytes = 10
        let inner = Entry("a.apk", ZipBuilder(Self.found).bytes)
        #expect(report(ZipBuilder(inner).bytes, limits: limits).notRead.map(\.reason) == [.archive(.entryTooLarge)])
        limits = ArchiveLimits()
        (limits.freeBytes, limits.maximumRatio) = (10, 0)
        limits.maximumRatio = 1
        // 3.2.6 of RFC 1951: a fixed block with "a" and a copy of 258 bytes of it.
        let small = Entry("c.json", String(repeating: "a", count: 259)).with { $0.deflated = [0x4B, 0x1C, 0x05, 0x00] }
        #expect(report(ZipBuilder(small).bytes, limits: limits).notRead.map(\.reason) == [.archive(.ratioTooHigh)])
        #expect(report(ZipBuilder(small).bytes).notRead.isEmpty)
    }

    @Test("Entries with more findings than an archive and those inside it may have are reported and not read")
    func findings() {
        var limits = ArchiveLimits()
        limits.maximumFindings = 2
        let twice = Entry("b.json", "\(Self.configuration)\n\(Self.configuration)")
        let inner = Entry("c.apk", ZipBuilder(Self.found, Self.found.with { $0.name = "d.json" }).bytes)
        let result = report(ZipBuilder(Self.found, twice, inner).bytes, limits: limits)
        #expect(result.findings.map(\.path) == ["app.apk!/assets/a.json", "app.apk!/c.apk!/assets/a.json"])
        #expect(
            result.notRead == [
                UnreadFile(path: "app.apk!/b.json", reason: .tooManyNames),
                UnreadFile(path: "app.apk!/c.apk!/d.json", reason: .tooManyNames),
            ])
    }

    @Test("An archive with too many entries that cannot be read, with those inside it, is not read on")
    func unreadEntries() {
        var limits = ArchiveLimits()
        limits.maximumUnread = 2
        let hidden = Self.found.with { $0.flags = 1 }
        let inner = ZipBuilder(hidden, hidden.with { $0.name = "b.json" }, Self.found.with { $0.name = "c.json" })
        let result = report(ZipBuilder(Entry("in.apk", inner.bytes), Self.found).bytes, limits: limits)
        #expect(
            result.notRead == [
                UnreadFile(path: "app.apk!/in.apk!/assets/a.json", reason: .archive(.encrypted)),
                UnreadFile(path: "app.apk!/in.apk!/b.json", reason: .archive(.encrypted)),
                UnreadFile(path: "app.apk!/in.apk", reason: .archive(.tooManyUnread)),
                UnreadFile(path: "app.apk", reason: .archive(.tooManyUnread)),
            ])
        #expect(result.findings.isEmpty)
    }

    @Test("Every damaged byte and every beginning of an archive is read without a crash")
    func damage() {
        let bytes = ZipBuilder(Self.found.inBlocks(), Entry("b.apk", ZipBuilder(Self.found).bytes)).bytes
        for end in bytes.indices {
            #expect(!report(Array(bytes[..<end])).notRead.isEmpty)
        }
        for place in bytes.indices {
            for bits: UInt8 in [1, 0x80, 0xFF] {
                var damaged = bytes
                damaged[place] ^= bits
                _ = report(damaged)
            }
        }
    }
}

extension ZipBuilder {
    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
