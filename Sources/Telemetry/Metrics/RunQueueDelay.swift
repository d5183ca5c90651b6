internal import Glibc

/// The time that a thread has been runnable while the processors ran other threads: the second number of
/// /proc/thread-self/schedstat (sched-stats in the kernel's documentation).
package final class RunQueueDelay {
    private let descriptor: CInt

    /// Measures the calling thread; nil if the kernel does not provide the file.
    package init?() {
        let opened = unsafe open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit {
        close(descriptor)
    }

    /// Returns the nanoseconds since the thread began; nil if they cannot be read. It can be called on any thread.
    package func nanoseconds() -> Int64? {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 80) { text in
            let count = unsafe pread(descriptor, text.baseAddress, text.count, 0)
            var (spaces, number) = (0, Int64(0))
            for index in 0..<max(0, count) {
                let byte = unsafe text[index]
                if byte == UInt8(ascii: " ") {
                    spaces += 1
                } else if spaces == 1 {
                    number = number &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
                }
            }
            return spaces == 2 ? number : nil
        }
    }
}
