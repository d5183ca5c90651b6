package import NIOCore

extension ByteBuffer {
    /// Appends what `body` writes, at most `capacity` bytes.
    ///
    /// A head consists of a dozen short pieces. Each write of ByteBuffer checks whether the storage is unique and large
    /// enough, about 100 instructions per piece; this method checks once.
    package mutating func write(atMost capacity: Int, _ body: (inout RoomWriter) -> Void) {
        _ = unsafe writeWithUnsafeMutableBytes(minimumWritableBytes: capacity) { room in
            var writer = unsafe RoomWriter(room)
            body(&writer)
            return writer.count
        }
    }
}

/// A writer that appends pieces to preallocated memory. Exceeding its capacity is a programming error and ends the
/// process.
@safe package struct RoomWriter: ~Copyable {
    private let room: UnsafeMutableRawBufferPointer
    /// The number of bytes written.
    fileprivate private(set) var count = 0

    /// The most digits of a number.
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

    /// Writes a non-negative number in decimal, with at most ``digits`` digits.
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
