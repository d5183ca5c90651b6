import NIOCore
import Testing

@testable import HTTP1

@Suite("Writing a head into room made once")
struct RoomWriterTests {
    @Test("Pieces come one behind the other, after what is there already")
    func pieces() {
        var buffer = ByteBuffer(string: "before ")
        let utf8 = Array("bytes".utf8)
        buffer.write(atMost: 64) { writer in
            writer.write("static ")
            writer.write(String("string ü "))
            writer.write("")
            utf8.withUnsafeBytes { writer.write($0) }
        }
        #expect(String(buffer: buffer) == "before static string ü bytes")
    }

    @Test("Numbers are as Swift writes them", arguments: [0, 1, 9, 10, 99, 100, 65_535, 1 << 53, Int.max])
    func decimal(number: Int) {
        var buffer = ByteBuffer()
        buffer.write(atMost: RoomWriter.digits) { $0.write(decimal: number) }
        #expect(String(buffer: buffer) == String(number))
    }

    @Test("What is written into a copy does not reach the original")
    func copies() {
        let original = ByteBuffer(string: "abc")
        var copy = original
        copy.write(atMost: 3) { $0.write("def") }
        #expect(String(buffer: original) == "abc")
        #expect(String(buffer: copy) == "abcdef")
    }

    @Test("Too little room ends the process instead of writing beyond it")
    func overflow() async {
        await #expect(processExitsWith: .failure) {
            var buffer = ByteBufferAllocator().buffer(capacity: 16)
            buffer.write(atMost: 16) { writer in
                for _ in 0..<100_000 { writer.write("0123456789") }
            }
        }
    }
}

@Suite("Comparing without regard to case")
struct GrammarCaseTests {
    /// Every byte in every place of a long name, among them those that differ from a letter by one bit only.
    @Test(
        "Exactly the letters have another case",
        arguments: ["te", "content-length", "x-forwarded-proto", "a1-_~.!z"])
    func everyByte(name: String) {
        let literal: StaticString =
            switch name {
            case "te": "te"
            case "content-length": "content-length"
            case "x-forwarded-proto": "x-forwarded-proto"
            default: "a1-_~.!z"
            }
        let expected = Array(name.utf8)
        for place in expected.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = expected
                bytes[place] = byte
                let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(expected[place])
                let isSame = byte == expected[place] || isLetter && byte == expected[place] & 0xDF
                let found = bytes.withUnsafeBytes { Grammar.equals($0, ignoringCase: literal) }
                #expect(found == isSame, "byte \(byte) at \(place) of \(name)")
            }
        }
    }
}
