import Glibc

/// The user who owns the files of a state directory.
///
/// Operators run commands as root, since only root can read the service's secrets; but the service could not read files
/// that root creates in the state directory.
enum StateOwner {
    /// Switches from root to the directory's owner and that user's groups. Does nothing for other users, or if root
    /// owns the directory, or if it does not exist.
    ///
    /// - Returns: the name of the new user; nil if the user stays the same.
    /// - Throws: ``CommandFailure`` if the user can't be changed.
    @discardableResult
    static func become(_ directory: String) throws -> String? {
        var about = stat()
        guard geteuid() == 0, unsafe stat(directory, &about) == 0, about.st_uid != 0 else { return nil }
        let owner = about.st_uid
        var group = about.st_gid
        var areGroupsSet: Bool
        var name = "\(owner)"
        if let account = unsafe getpwuid(owner) {
            group = unsafe account.pointee.pw_gid
            name = unsafe String(cString: account.pointee.pw_name)
            areGroupsSet = unsafe initgroups(account.pointee.pw_name, group) == 0
        } else {
            areGroupsSet = unsafe setgroups(1, &group) == 0
        }
        areGroupsSet = areGroupsSet && setgid(group) == 0
        guard areGroupsSet, setuid(owner) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            throw CommandFailure(
                "\(directory): belongs to user \(owner), and this cannot go on as that user: \(reason)")
        }
        return name
    }
}
