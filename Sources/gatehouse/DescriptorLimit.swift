internal import Glibc

/// The limit on the process's open file descriptors.
enum DescriptorLimit {
    /// Raises the soft limit to the hard limit. The soft limit is usually 1024 for the sake of programs that call
    /// select(2), which the gateway does not use.
    ///
    /// - Returns: the reason why the limit cannot be raised; nil on success.
    static func raise() -> String? {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return unsafe String(cString: strerror(errno)) }
        guard limit.rlim_cur < limit.rlim_max else { return nil }
        limit.rlim_cur = limit.rlim_max
        return unsafe setrlimit(resource, &limit) == 0 ? nil : String(cString: strerror(errno))
    }
}
