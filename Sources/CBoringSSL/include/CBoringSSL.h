/// BoringSSL, as swift-nio-ssl brings it. No product of that package exports its C module; see
/// Sources/TLS/TLSServerSession.swift.
#include <CNIOBoringSSL.h>
