/// Everything that is wrong with a configuration file, each with the file, the line and the key's path.
package struct ConfigurationFaults: Error, CustomStringConvertible, Equatable {
    /// `<file>:<line>: <key path>: <what is wrong>`, in the order found. Never a value that may be secret.
    package let faults: [String]

    package var description: String { faults.joined(separator: "\n") }
}
