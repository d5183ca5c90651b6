internal import Glibc

/// The descriptors that are not for a listener's connections.
struct DescriptorReserve {
    /// The limit from which on there are as many of them as they are meant to be; of a lower one as large a part.
    private static let usualLimit: rlim_t = 1024
    /// How many of the descriptors that are left stand for one connection that may come uncounted: an HTTP/2 connection
    /// may take a hundred for its streams' connections to backends, and each listener counts for itself.
    private static let share = 512
    /// They may all come when the connections before them have taken what was left.
    private static let most = 64

    private let size: rlim_t
    /// How many connections may come before descriptors are counted again.
    private var uncounted = 0
    /// The limit at the last count; it may be changed while the process runs.
    private var counted: rlim_t = 0

    init(size: Int) { self.size = rlim_t(clamping: size) }

    /// How many they are by the limit of this moment.
    var count: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Int(clamping: size)
        }
        return Int(clamping: count(of: limit.rlim_cur))
    }

    private func count(of limit: rlim_t) -> rlim_t { min(limit, Self.usualLimit) * size / Self.usualLimit }

    /// Whether none of them is in use, as far as can be told without counting at each connection, which takes the
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

    /// How many descriptors are left for clients; negative where some of the reserve are in use.
    private func left(of limit: rlim_t) -> Int {
        let forClients = Int(clamping: limit - count(of: limit))
        if let inUse = Self.inUse { return forClients - inUse }
        // The kernel gives out the lowest free number (POSIX.1-2024, open), so one that is opened for a moment shows how
        // many are left. One below it that is being closed by another thread makes that too many.
        let next = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard next >= 0 else { return [EMFILE, ENFILE].contains(errno) ? -1 : 0 }
        close(next)
        return forClients - 1 - Int(next)
    }

    /// How many descriptors the process has, with those that are about to be closed; nil where the kernel does not say.
    /// Since Linux 6.2 the size of this directory is their number (proc_pid_fd(5)).
    private static var inUse: Int? {
        var status = stat()
        guard unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 else { return nil }
        return Int(status.st_size)
    }
}
