import Glibc

/// The user that the files of a state directory belong to.
///
/// An operator works as root, who alone reads the service's secrets; a file that root leaves in the state directory is
/// one that the service cannot read.
enum StateOwner {
    /// As root, goes on as the directory's owner, with that user's groups. Anybody else stays who they are, and so does
    /// root where the directory is root's or not there.
    ///
    /// - Returns: who that is; nil for who stays who they are.
    /// - Throws: ``CommandFailure``
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
