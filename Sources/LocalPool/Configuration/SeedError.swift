/// A configured user, or Apple Account, whom the database knows by another `sub`.
package struct SeedError: Error, CustomStringConvertible {
    let email: String

    package var description: String {
        "the database has \(email) with another sub; remove the database or the key"
    }
}
