internal import CNghttp2
internal import Glibc

/// The memory of one session.
///
/// libnghttp2 has a buffer of 16 KiB for the frame that it writes, as long as the session is there, and most frames have
/// some hundred bytes. Here it is mapped, so that only pages that a frame has reached take memory, and none after
/// ``rest()``: 4 KiB less for an idle connection than in the heap.
final class HTTP2SessionMemory {
    /// The size of the buffer for frames: a frame's longest payload by default (RFC 9113 §4.2), its header, and little
    /// besides. Nothing else that a session takes when it is made is of this size.
    private static let mappedSizes = (16 << 10) + 9...(16 << 10) + 64
    private var mapped: UnsafeMutableRawBufferPointer?
    /// Whether the session is being made. Clients choose the size of blocks that are taken later, and their bytes must
    /// stay.
    private var isBeingMade = true

    /// Whether the frames' buffer is mapped.
    var isMapped: Bool { mapped != nil }

    func sessionIsMade() { isBeingMade = false }

    deinit {
        if let mapped { munmap(mapped.baseAddress, mapped.count) }
    }

    /// libnghttp2's functions for it. It must outlive the session that uses them.
    var functions: nghttp2_mem {
        nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, user in HTTP2SessionMemory.of(user).allocate(size) },
            free: { block, user in HTTP2SessionMemory.of(user).free(block) },
            calloc: { count, size, _ in calloc(count, size) },
            realloc: { block, size, user in HTTP2SessionMemory.of(user).reallocate(block, size) })
    }

    /// Gives the buffer's pages back. Their bytes are zero afterwards.
    ///
    /// - Precondition: no frame is half written.
    func rest() {
        if let mapped { madvise(mapped.baseAddress, mapped.count, MADV_DONTNEED) }
    }

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2SessionMemory {
        guard let user else { preconditionFailure("the functions have their memory") }
        return Unmanaged<HTTP2SessionMemory>.fromOpaque(user).takeUnretainedValue()
    }

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        guard isBeingMade, mapped == nil, Self.mappedSizes.contains(size), let made = Self.map(size) else {
            return malloc(size)
        }
        mapped = made
        return made.baseAddress
    }

    /// Nil where the system has no more mappings for the process.
    private static func map(_ size: Int) -> UnsafeMutableRawBufferPointer? {
        let made = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let made, made != MAP_FAILED else { return nil }
        // Mappings of many sessions lie side by side. A huge page would be all of theirs.
        madvise(made, size, MADV_NOHUGEPAGE)
        return UnsafeMutableRawBufferPointer(start: made, count: size)
    }

    private func free(_ block: UnsafeMutableRawPointer?) {
        guard let block, let mapped, mapped.baseAddress == block else { return Glibc.free(block) }
        munmap(block, mapped.count)
        self.mapped = nil
    }

    private func reallocate(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        // libnghttp2 takes the buffer for frames by realloc, too.
        guard let block else { return allocate(size) }
        guard let mapped, mapped.baseAddress == block else { return realloc(block, size) }
        guard let moved = malloc(size) else { return nil }
        moved.copyMemory(from: block, byteCount: min(size, mapped.count))
        free(block)
        return moved
    }
}
