package import NIOCore

extension ByteBuffer {
    /// Appends what `body` writes, at most `capacity` bytes.
    ///
    /// A head is a dozen short pieces. Each of ByteBuffer's own writes asks anew whether the storage is unique and
    /// large enough, about 100 instructions a piece; this asks once.
    package mutating func write(atMost capacity: Int, _ body: (inout RoomWriter) -> Void) {
        _ = unsafe writeWithUnsafeMutableBytes(minimumWritableBytes: capacity) { room in
            var writer = unsafe RoomWriter(room)
            body(&writer)
            return writer.count
        }
    }
}

/// Writes one piece behind the other into room that was made for all of them. Too little room is a fault of the
/// caller's and ends the process.
@safe package struct RoomWriter: ~Copyable {
    private let room: UnsafeMutableRawBufferPointer
    /// How many bytes have been written.
    fileprivate private(set) var count = 0

    /// The most digits that a number takes.
    package static let digits = 20

    fileprivate init(_ room: UnsafeMutableRawBufferPointer) {
        unsafe self.room = room
    }

    package mutating func write(_ text: StaticString) {
        unsafe write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func write(_ text: String) {
        unsafe text.utf8.span.bytes.withUnsafeBytes { unsafe write($0) }
    }

    package mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let from = bytes.baseAddress else { return }
        unsafe precondition(bytes.count <= room.count - count, "room for what is written")
        unsafe (room.baseAddress.unsafelyUnwrapped + count).copyMemory(from: from, byteCount: bytes.count)
        count += bytes.count
    }

    /// A non-negative number in decimal digits, ``digits`` at most.
    package mutating func write(decimal number: Int) {
        var rest = UInt64(number)
        var end = count
        repeat {
            end += 1
            rest /= 10
        } while rest > 0
        unsafe precondition(end <= room.count, "room for what is written")
        (rest, count) = (UInt64(number), end)
        repeat {
            end -= 1
            unsafe room.storeBytes(of: UInt8(truncatingIfNeeded: 0x30 + rest % 10), toByteOffset: end, as: UInt8.self)
            rest /= 10
        } while rest > 0
    }
}
