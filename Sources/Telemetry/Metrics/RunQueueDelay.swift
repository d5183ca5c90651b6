internal import Glibc

/// How long a thread has been ready to run while the processors were busy with others: the second number of
/// /proc/thread-self/schedstat (sched-stats in the kernel's documentation).
package struct RunQueueDelay: ~Copyable {
    private let descriptor: CInt

    /// For the thread that calls; nil where the kernel does not keep count.
    package init?() {
        let opened = unsafe open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit {
        close(descriptor)
    }

    /// Nanoseconds since the thread began. Any thread may ask.
    package func nanoseconds() -> Int64? {
        var text = [UInt8](repeating: 0, count: 80)
        let count = unsafe pread(descriptor, &text, text.count, 0)
        guard count > 0 else { return nil }
        let numbers = text.prefix(count).split(separator: UInt8(ascii: " "))
        return numbers.count > 1 ? Int64(String(decoding: numbers[1], as: UTF8.self)) : nil
    }
}
