internal import Cryptography
internal import Encoding
internal import HTTPTypes

/// `/`: a page for people that shows what `/status` and `/metrics` say.
///
/// It is one text without outside resources and holds no data: its script asks for that, with the token that it is
/// told. Its parts are the files beside this one.
enum DashboardPage {
    private static let style = decoded(PackageResources.style_css)

    private static let script = [
        PackageResources.samples_js, PackageResources.words_js, PackageResources.charts_js,
        PackageResources.changes_js, PackageResources.attention_js, PackageResources.sections_js,
        PackageResources.targets_js, PackageResources.runbook_js, PackageResources.live_js,
    ].map(decoded).joined()

    /// As text of the page.
    private static let runbook = [
        PackageResources.runbook_md, PackageResources.runbook_postgres_md, PackageResources.runbook_secrets_md,
    ].map(decoded)
        .joined().replacing("&", with: "&amp;").replacing("<", with: "&lt;")

    static let text = decoded(PackageResources.page_html)
        .replacing("<!-- style.css -->", with: "<style>\(style)</style>")
        .replacing("<!-- runbook.md -->", with: runbook)
        .replacing("<!-- script.js -->", with: "<script>\(script)</script>")

    /// With these a browser runs and loads nothing but what is in the page, and asks nobody but this listener
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
