internal import Encoding
package import HTTPClient
package import Pipeline

/// Fetches an issuer's key set from its configured source, and from nowhere else.
package struct KeySetFetch: Sendable {
    /// The reason that there is no set.
    package struct Failure: Error {
        package let reason: String
        /// The omitted keys of a set that has no usable key.
        var dropped: [String] = []
        /// Whether the fetch was cancelled, as when the gateway stops.
        var isCancelled = false
    }

    let issuer: Issuer
    let fetcher: any Fetcher

    package init(issuer: Issuer, fetcher: any Fetcher) {
        self.issuer = issuer
        self.fetcher = fetcher
    }

    /// - Parameters:
    ///   - timeout: for all requests together.
    ///   - maximumBytes: the maximum length of a document.
    package func fetch(timeout: Duration, maximumBytes: Int) async throws(Failure) -> (
        set: KeySet, response: FetchResponse
    ) {
        var url = issuer.keySource.place
        var left = timeout
        if case .discovery = issuer.keySource {
            let started = ContinuousClock.now
            let metadata = try await document(url, timeout, maximumBytes)
            url = try keySetURL(metadata.body, maximumBytes)
            left = max(.milliseconds(1), timeout - (ContinuousClock.now - started))
        }
        let response = try await document(url, left, maximumBytes)
        let set = try keySet(response.body)
        guard !set.isEmpty else { throw Failure(reason: "no usable key", dropped: set.dropped) }
        return (set, response)
    }

    func keySet(_ document: [UInt8]) throws(Failure) -> KeySet {
        do throws(KeySetError) {
            return try KeySet(jwks: document, algorithms: issuer.algorithms, generation: KeySetGeneration.next())
        } catch {
            throw Failure(reason: error.rawValue)
        }
    }

    /// The `jwks_uri` of metadata whose `issuer` equals this issuer's, byte for byte (OpenID Connect Discovery 1.0,
    /// 4.3). The fetcher decides whether the URL may be fetched, as for a configured one.
    private func keySetURL(_ metadata: [UInt8], _ maximumBytes: Int) throws(Failure) -> String {
        guard let metadata = try? JSON.parse(metadata, limits: JSONLimits(maximumBytes: maximumBytes)) else {
            throw Failure(reason: "the provider's metadata are not JSON")
        }
        guard metadata["issuer"]?.stringValue?.hasSameBytes(as: issuer.issuer) == true else {
            throw Failure(reason: "the provider's metadata name another issuer")
        }
        guard let url = metadata["jwks_uri"]?.stringValue, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(reason: "the provider's metadata name no jwks_uri")
        }
        return url
    }

    private func document(
        _ url: String, _ timeout: Duration, _ maximumBytes: Int
    ) async throws(Failure) -> FetchResponse {
        let request = FetchRequest(
            url: url, headers: [(name: "Accept", value: "application/json")], deadline: timeout,
            maximumResponseBytes: maximumBytes)
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            guard response.status == 200 else { throw FetchError.failed("status \(response.status)") }
            return response
        } catch {
            throw Failure(reason: Self.reason(error), isCancelled: error == .cancelled)
        }
    }

    private static func reason(_ error: FetchError) -> String {
        switch error {
        case .forbiddenAddress: "the host's address is private: allow_private_addresses is not set"
        case .forbiddenScheme: "the URL is not https: allow_insecure_http is not set"
        default: error.description
        }
    }
}
