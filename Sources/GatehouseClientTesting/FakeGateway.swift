public import Foundation
#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif
public import GatehouseClient

/// A gateway in this process: a transport that answers as the real one does.
public final class FakeGateway: Transport {
    public init() {}
    public func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        throw URLError(.cannotConnectToHost)
    }
}
