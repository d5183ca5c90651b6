import Encoding
import Glibc
import HTTPTypes
import Testing

@testable import Pipeline

/// Comparing, hashing and ordering text by Unicode's canonical equivalence sorts the combining marks of each character,
/// in time that grows with the square of their number. Here is no place where who writes a token or a body can ask for
/// it.
@Suite("Text that takes long to compare", .serialized)
struct CostlyTextTests {
    /// One letter with `count` marks in an order that must be sorted; another order for each number.
    static func marks(_ count: Int, order: Int = 0) -> String {
        let marks = ["\u{345}\u{334}", "\u{334}\u{345}"]
        return "a" + String(repeating: marks[order & 1], count: count / 2) + "\(order)"
    }

    /// As many bytes that are characters of their own.
    static func plain(_ count: Int, order: Int = 0) -> String {
        "a" + String(repeating: "\u{e9}", count: count) + "\(order)"
    }

    /// The least processor time of a few tries, since others use the machine too.
    static func time(_ body: () throws -> Void) rethrows -> Duration {
        var least = Duration.seconds(60)
        for _ in 0..<3 {
            let start = processorTime
            try body()
            least = min(least, processorTime - start)
        }
        return least
    }

    /// Of this thread.
    private static var processorTime: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Whether `body` takes about as long for either text. Quadratic, it takes hundreds of times as long.
    static func isCheap(_ body: ((Int, Int) -> String) throws -> Void) rethrows -> Bool {
        let plain = try time { try body { Self.plain($0, order: $1) } }
        return try time { try body { Self.marks($0, order: $1) } } < plain * 4 + .milliseconds(10)
    }

    @Test("Names of a body, few and many", arguments: [(2, 60_000), (20, 3_000), (30, 3_000), (60, 2_000)])
    func names(count: Int, marks: Int) throws {
        let isCheap = try Self.isCheap { text in
            let members = (0..<count).map { "\"\(text(marks, $0))\":0" }
            let object = try JSON.parse(Array("{\(members.joined(separator: ","))}".utf8)).objectValue
            #expect(object?.count == count)
        }
        #expect(isCheap)
    }

    @Test("Values that are compared with what they may be")
    func values() {
        let isCheap = Self.isCheap { text in
            let (value, other) = (JSON.string(text(15_000, 0)), JSON.string(text(15_000, 1)))
            #expect(value != other && value != "access" && JSON.array([value]) != [other])
            #expect(value.flagValue == nil)
        }
        #expect(isCheap)
    }

    @Test("The type of a token, which may be of 127 bytes at most")
    func types() throws {
        let isCheap = Self.isCheap { text in
            #expect(!TokenTypes.access.accepts(TokenTypes.normal(text(15_000, 0))))
        }
        #expect(isCheap)
        let fits = String(repeating: "x", count: TokenTypes.maximumBytes)
        #expect(try TokenHeader(["alg": "RS256", "kid": "k", "typ": .string(fits)]).type == fits)
        #expect(throws: RejectReason.typeNotAllowed) {
            try TokenHeader(["alg": "RS256", "kid": "k", "typ": .string(fits + "x")])
        }
    }

    @Test("A spelling of a kept token that is found by the same end")
    func tokens() {
        let end = String(repeating: "x", count: 64)
        let isCheap = Self.isCheap { text in
            let twin = text(4_000, 0) + end
            let kept = String(repeating: "k", count: twin.utf8.count - end.utf8.count) + end
            #expect(TokenText.hash(of: kept) == TokenText.hash(of: twin))
            for _ in 0..<10 { #expect(!TokenText.isSame(kept, twin)) }
            #expect(TokenText.isSame(kept, kept) && TokenText.isSame("", "") && !TokenText.isSame("", "x"))
        }
        #expect(isCheap)
    }

    @Test("What a policy asks for")
    func policies() {
        let isCheap = Self.isCheap { text in
            var token = PolicyRequirementsTests.token()
            token.scopes = [text(4_000, 0)]
            token.groups = [text(4_000, 1)]
            token.claims = ["role": .string(text(4_000, 0)), "list": [.string(text(4_000, 1))]]
            let tests = ["role", "list"].map { ClaimCondition(ClaimPath([$0]), .oneOf(["admin", "user"])) }
            for test in tests { #expect(Requirements(claims: [test]).lastingDenial(of: token) == .claimMismatch) }
            #expect(Requirements(allScopes: ["openid"]).lastingDenial(of: token) == .insufficientScope)
            #expect(Requirements(anyGroup: ["staff"]).lastingDenial(of: token) == .groupMissing)
        }
        #expect(isCheap)
    }

    @Test("Members of a key set", arguments: ["kty", "kid", "use", "alg", "key_ops", "crv", "n", "e", "x5t", "name"])
    func keySets(member: String) throws {
        let isCheap = try Self.isCheap { text in
            let key: JSONObject = ["kty": "RSA", "kid": "k", "use": "sig", "alg": "RS256", "n": "AQAB", "e": "AQAB"]
            let keys = (0..<4).map { number in
                var key = key
                let value = JSON.string(text(4_000, number))
                if member == "name" { key[text(4_000, number)] = value } else { key[member] = value }
                return JSON.object(key)
            }
            let set = try KeySet(jwks: (["keys": .array(keys)] as JSON).encoded(), generation: 1)
            #expect(set.isEmpty && set.dropped.count == 4)
        }
        #expect(isCheap)
    }

    @Test("What proxies forward")
    func forwarded() throws {
        let proxies = try #require(TrustedProxies([try IPNetwork("127.0.0.1")]))
        let isCheap = Self.isCheap { text in
            for value in [text(15_000, 0), "[\(text(15_000, 1))]", " \(text(15_000, 0)):80 "] {
                #expect(proxies.origin(peer: "127.0.0.1", [.xForwardedFor: value])?.client == "127.0.0.1")
            }
        }
        #expect(isCheap)
    }

    @Test("Keys of tables, and case")
    func keys() {
        let isCheap = Self.isCheap { text in
            let table = [ExactText(text(15_000, 0)): 0, ExactText(text(15_000, 1)): 1]
            #expect(table[ExactText(text(15_000, 1))] == 1 && table["a"] == nil)
            #expect(text(15_000, 0).foldedCase.hasSameBytes(as: text(15_000, 0)))
            #expect(text(15_000, 0).begins(with: "a") && !text(15_000, 0).holds("b"))
            #expect(text(15_000, 0).cut(toBytes: 128).utf8.count > 120)
        }
        #expect(isCheap)
    }
}
