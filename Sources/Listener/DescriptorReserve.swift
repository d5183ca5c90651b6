internal import Glibc

/// The file descriptors that a listener's connections leave free.
struct DescriptorReserve {
    /// The `RLIMIT_NOFILE` from which the full reserve applies. Below it, a proportional part does.
    private static let usualLimit: rlim_t = 1024
    /// The number of free descriptors per connection accepted before the next count: an HTTP/2 connection may need a
    /// hundred for its streams' connections to backends, and each listener counts separately.
    private static let share = 512
    /// The most connections accepted between two counts.
    private static let most = 64

    private let size: rlim_t
    /// The number of connections that may be accepted before descriptors are counted again.
    private var uncounted = 0
    /// The limit at the last count; it may be changed while the process runs.
    private var counted: rlim_t = 0

    init(size: Int) { self.size = rlim_t(clamping: size) }

    /// The number of reserved descriptors under the current limit.
    var count: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Int(clamping: size)
        }
        return Int(clamping: count(of: limit.rlim_cur))
    }

    private func count(of limit: rlim_t) -> rlim_t { min(limit, Self.usualLimit) * size / Self.usualLimit }

    /// Returns whether the whole reserve is free, estimated without a count for each connection: a count takes the
    /// kernel microseconds.
    mutating func isFree() -> Bool {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        if uncounted > 0, limit.rlim_cur == counted {
            uncounted -= 1
            return true
        }
        let left = left(of: limit.rlim_cur)
        uncounted = min(max(0, left / Self.share), Self.most)
        counted = limit.rlim_cur
        return left >= 0
    }

    /// Returns the number of descriptors left for clients; negative if some of the reserve are in use.
    private func left(of limit: rlim_t) -> Int {
        let forClients = Int(clamping: limit - count(of: limit))
        if let inUse = Self.inUse { return forClients - inUse }
        // The kernel assigns the lowest free number (POSIX.1-2024, open), so a descriptor opened for a moment shows the
        // number in use. If another thread is closing a lower descriptor, the result is too high.
        let next = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard next >= 0 else { return [EMFILE, ENFILE].contains(errno) ? -1 : 0 }
        close(next)
        return forClients - 1 - Int(next)
    }

    /// The number of the process's open descriptors, including those about to be closed; nil if the kernel does not
    /// report it. Since Linux 6.2 it is the size of this directory (proc_pid_fd(5)).
    private static var inUse: Int? {
        var status = stat()
        guard unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 else { return nil }
        return Int(status.st_size)
    }
}
