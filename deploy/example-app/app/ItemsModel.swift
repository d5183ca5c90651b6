import Foundation
public import GatehouseClient
public import Observation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An item of the API.
public struct Item: Decodable, Identifiable, Sendable, Hashable {
    public var id: Int
    public var name: String

    public init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

/// The second screen: a list from the API behind the gateway.
@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor
@Observable
public final class ItemsModel {
    public private(set) var items: [Item] = []
    /// The error to show; nil for none.
    public private(set) var message: String?
    private let gatehouse: Gatehouse

    public init(_ gatehouse: Gatehouse) { self.gatehouse = gatehouse }

    /// Loads the list. An error leaves the last one.
    public func load() async {
        do {
            let (data, response) = try await gatehouse.data("api/v1/items")
            guard response.statusCode == 200 else {
                message = "The list is not available (\(response.statusCode))."
                return
            }
            items = try JSONDecoder().decode([String: [Item]].self, from: data)["items"] ?? []
            message = nil
        } catch {
            message = error.localizedDescription
        }
    }

    public func signOut() async { _ = await gatehouse.signOut() }
}
