internal import Cryptography
internal import Encoding
internal import HTTPTypes

/// `/`: the dashboard, which displays the data of `/status`, `/history` and `/metrics`.
///
/// The page is self-contained and holds no data. Its script fetches the data with the token that the user enters. Its
/// parts are the files in this directory.
enum DashboardPage {
    private static let style = decoded(PackageResources.style_css)

    private static let script = [
        PackageResources.samples_js, PackageResources.words_js, PackageResources.charts_js,
        PackageResources.changes_js, PackageResources.attention_js, PackageResources.sections_js,
        PackageResources.targets_js, PackageResources.runbook_js, PackageResources.live_js,
    ].map(decoded).joined()

    /// The runbook, escaped for HTML.
    private static let runbook = [
        PackageResources.runbook_md, PackageResources.runbook_postgres_md, PackageResources.runbook_secrets_md,
    ].map(decoded)
        .joined().replacing("&", with: "&amp;").replacing("<", with: "&lt;")

    static let text = decoded(PackageResources.page_html)
        .replacing("<!-- style.css -->", with: "<style>\(style)</style>")
        .replacing("<!-- runbook.md -->", with: runbook)
        .replacing("<!-- script.js -->", with: "<script>\(script)</script>")

    /// The fields with which a browser runs and loads only the contents of the page, and connects only to this listener
    /// (Content Security Policy Level 3).
    static let fields: HTTPFields = [
        .contentSecurityPolicy: [
            "default-src 'none'", "style-src \(source(style))", "script-src \(source(script))", "connect-src 'self'",
            "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; "),
        .xContentTypeOptions: "nosniff", referrerPolicy: "no-referrer",
    ]

    private static var referrerPolicy: HTTPField.Name {
        guard let name = HTTPField.Name("Referrer-Policy") else { preconditionFailure("it is a token") }
        return name
    }

    private static func source(_ text: String) -> String { "'sha256-\(Base64.encode(SHA256.hash(Array(text.utf8))))'" }

    private static func decoded(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
