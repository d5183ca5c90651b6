internal import Glibc

/// The number of file descriptors that the process may have.
enum DescriptorLimit {
    /// Raises the soft limit to the hard one. The soft limit is usually 1024, for programs that call select(2), which
    /// no part of the gateway does.
    ///
    /// - Returns: why it cannot be raised; nil where it is.
    static func raise() -> String? {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return unsafe String(cString: strerror(errno)) }
        guard limit.rlim_cur < limit.rlim_max else { return nil }
        limit.rlim_cur = limit.rlim_max
        return unsafe setrlimit(resource, &limit) == 0 ? nil : String(cString: strerror(errno))
    }
}
