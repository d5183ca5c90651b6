internal import CCurl
internal import Cryptography

/// An unsuccessful result of libcurl, with the text of libcurl or OpenSSL. It contains no host, path or header.
package struct CurlFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        case resolve, connect, tls, timeout, sizeLimit, scheme, privateAddress, resource, transfer
        /// Cancelled by its owner, or because the loop was closed.
        case cancelled
    }

    package let kind: Kind
    package let code: Int
    package let description: String

    init(_ code: CURLcode) {
        self.code = Int(code.rawValue)
        self.description = String(cString: curl_easy_strerror(code))
        self.kind =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
            case CURLE_COULDNT_CONNECT: .connect
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                .tls
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_FILESIZE_EXCEEDED: .sizeLimit
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT: .scheme
            case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: .resource
            case CURLE_ABORTED_BY_CALLBACK: .cancelled
            default: .transfer
            }
    }

    /// Creates a failure with the reason for which a server's certificate was rejected, if it was.
    init(_ code: CURLcode, of easy: CurlEasy) {
        guard code == CURLE_PEER_FAILED_VERIFICATION else {
            self.init(code)
            return
        }
        var result = 0
        _ = gatehouse_getinfo_verify_result(easy.handle, &result)
        // libcurl compares names itself; OpenSSL has no result then.
        let reason = CertificateError.words(result) ?? "it is for another name"
        self.init(
            kind: .tls, code: Int(code.rawValue), description: "the server's certificate is not trusted: \(reason)")
    }

    init(multi code: CURLMcode) {
        self.code = Int(code.rawValue)
        self.description = String(cString: curl_multi_strerror(code))
        self.kind = .resource
    }

    package init(kind: Kind, code: Int = -1, description: String) {
        self.kind = kind
        self.code = code
        self.description = description
    }
}

extension CURLcode {
    /// Throws unless this is success.
    func check() throws(CurlFailure) {
        guard self == CURLE_OK else { throw CurlFailure(self) }
    }
}

extension CURLMcode {
    /// Throws unless this is success.
    func check() throws(CurlFailure) {
        guard self == CURLM_OK else { throw CurlFailure(multi: self) }
    }
}
