/// A conflict between the database and the configuration.
package struct SeedError: Error, CustomStringConvertible {
    enum Problem {
        /// A configured user or Apple Account has another `sub` in the database.
        case otherSub
        /// Two users would have this name.
        case sharesName
    }

    let name: String
    var problem = Problem.otherSub

    package var description: String {
        switch problem {
        case .otherSub: "the database has \(name) with another sub; remove the database or the key"
        case .sharesName:
            "the database has several users with the name \(name), which username_attributes, alias_attributes or "
                + "username_case_sensitive now make unique; remove the database or set them back"
        }
    }
}
