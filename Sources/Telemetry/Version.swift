/// The version of this release (Semantic Versioning 2.0).
package enum GatehouseVersion {
    package static let current = "0.9.0"
}
