import Testing

@testable import Settings
@testable import SettingsReader

@Suite("Faults of settings")
struct FaultTests {
    @Test("All faults are told at once, each with file, line and key path")
    func allAtOnce() {
        let yaml = """
            listeners:
              - address: 127.0.0.1:8080
              - address: 127.0.0.1:8080
              - adress: 0.0.0.0:80
            upstreams:
              api:
                url: ftp://127.0.0.1
                connect_timeout: 5
            routes:
              - path: /a
                upstream: apo
                access: requird
              - upstream: api
            thread: 2
            limits:
              header_bytes: 32KB
              header_count: many
            """
        #expect(
            errors(yaml) == [
                "3: listeners[1].address: another listener has this address (got \"127.0.0.1:8080\")",
                "4: listeners[2].adress: unknown key (did you mean \"address\"?)",
                "7: upstreams.api.url: must begin with http:// or https:// (got \"ftp://127.0.0.1\")",
                "8: upstreams.api.connect_timeout: must be a duration like 250ms, 5s, 10m, 24h or 30d (got \"5\")",
                "10: routes[0]: needs an issuer, since access is required, but issuers names none",
                "11: routes[0].upstream: names no upstream (got \"apo\"; did you mean \"api\"?)",
                "12: routes[0].access: must be one of public, optional, required (got \"requird\"; "
                    + "did you mean \"required\"?)",
                "13: routes[1].path: is missing",
                "13: routes[1]: needs an issuer, since access is required, but issuers names none",
                "14: thread: unknown key (did you mean \"threads\"?)",
                "16: limits.header_bytes: must be a size like 512B, 64KiB or 1MiB (got \"32KB\"; "
                    + "did you mean \"32KiB\"?)",
                "17: limits.header_count: must be a whole number from 1 to 10000 (got \"many\")",
            ])
    }

    @Test("A fault prints like a compiler's")
    func printing() {
        let error = SettingsError(
            file: "gatehouse.yaml", line: 12, column: 5, keyPath: "routes[3].access", message: "is missing")
        #expect(error.description == "gatehouse.yaml:12: routes[3].access: is missing")
    }

    @Test(
        "What is missing is told",
        arguments: [
            ("", ["1: listeners: is missing", "1: upstreams: is missing", "1: routes: is missing"]),
            ("# nothing\n", ["1: listeners: is missing", "1: upstreams: is missing", "1: routes: is missing"]),
            (
                "listeners: []\nupstreams: {}\nroutes: []",
                [
                    "1: listeners: must hold at least one listener", "2: upstreams: must hold at least one upstream",
                    "3: routes: must hold at least one route",
                ]
            ),
            ("- a", ["1: must be a section of keys, not a list"]),
            ("a", ["1: must be a section of keys, not a single value"]),
        ])
    func missing(yaml: String, expected: [String]) {
        #expect(errors(yaml) == expected)
    }

    @Test("A key given twice is told with the file's other faults")
    func duplicateKeys() {
        var sample = Sample()
        sample.upstreams = """
            upstreams:
              api:
                url: http://127.0.0.1:8000
                "url": http://127.0.0.1:8001
              api: {url: 'http://127.0.0.1:8002', idle_timeout: soon}
            """
        sample.more = "drain_timeout: 5s\ndrain_timeout: 6s\nä: 1\n'ä': 2"
        let found = errors(sample.yaml)
        #expect(found.contains("6: upstreams.api: is given more than once, first on line 3"), "\(found)")
        #expect(found.contains { $0.hasPrefix("6: upstreams.api.idle_timeout: must be a duration") }, "\(found)")
        #expect(found.contains("10: drain_timeout: is given more than once, first on line 9"), "\(found)")
        #expect(found.contains("12: ä: is given more than once, first on line 11"), "\(found)")
    }

    @Test(
        "What is not YAML is told with its line",
        arguments: [
            ("a: 1\nb: [1, 2\nc: 3\n", "3:2: not valid YAML"),
            ("a: 1\n\tb: 2\n", "2:1: not valid YAML"),
            ("a: b: c\n", "1:5: not valid YAML"),
            (
                String(repeating: "[", count: 5000),
                "1:1: not valid YAML here: sections and lists are nested too deeply"
            ),
            ("a: &x y\n*x : 1\n*x : 2\n", "1:4: a key is given more than once"),
            ("a: *nowhere\n", "1:4: not valid YAML"),
            ("a: 1\n---\nb: 2\n", "2:1: not valid YAML"),
            ("a: 1\nb: \u{1}\n", "2: not valid YAML"),
            ("\"\\x61\": 1\na: 2\n", "1:1: a key is given more than once"),
        ])
    func syntax(yaml: String, expected: String) {
        let found = errors(yaml)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    }

    @Test("A file with very many keys given twice is refused for one of them, without a reading for each")
    func manyTwice() {
        let found = errors((0..<4000).map { "a\($0 / 2): 1\n" }.joined())
        #expect(found.count == 1 && found[0].hasSuffix(":1: a key is given more than once"), "\(found)")
    }

    @Test(
        "YAML's own errors come with what is probably meant",
        arguments: [
            ("a: 1\n\tb: 2\n", "the line begins with a tab: indent with spaces"),
            ("a:\n  \tb: 2\n  c: d: e\n", "the line begins with a tab: indent with spaces"),
            ("name: api: orders\n", "put a value that contains \": \" in quotes"),
            ("a: 1\n  b: 2\n", "indent the line as its neighbours, or end the line above with a colon"),
            ("a: 1\r\n\tb: 2\r\n", "the line begins with a tab: indent with spaces"),
            ("a:\n  - \tb\n", "put spaces in place of the tab"),
            ("a: @b\n", "put a value that begins with \"@\" in quotes"),
            ("a: *\n", "put a value that begins with \"*\" in quotes"),
            ("a: *nowhere\n", "put a value that begins with \"*\" in quotes"),
            ("a: [1, 2\nc: 3\n", "close the [ or { before it, or put its value in quotes"),
            ("a: 'b\n", "close the quotes of the value"),
            ("a:\n  b: 1\n c: 2\n", "indent the line as its neighbours"),
            ("a: 1\nb\nc: 2\n", "write a colon and a space behind the key"),
        ])
    func hints(yaml: String, hint: String) {
        let found = errors(yaml)
        #expect(found.count == 1 && found[0].hasSuffix("(\(hint))"), "\(found)")
    }

    @Test("A misspelled section is one error, and what it holds is read as what was meant")
    func misspelledSections() {
        for (section, name, meant) in [
            (\Sample.upstreams, "upstream", "upstreams"), (\Sample.listeners, "listener", "listeners"),
            (\Sample.issuers, "issuer", "issuers"), (\Sample.routes, "route", "routes"),
        ] {
            var sample = Sample()
            let line = sample[keyPath: section]
            sample[keyPath: section] = name + line.drop { $0 != ":" }
            let found = errors(sample.yaml)
            let words = ": \(name): unknown key (did you mean \"\(meant)\"?)"
            #expect(found.count == 1 && found[0].hasSuffix(words), "\(found)")
        }
        var sample = Sample()
        sample.upstreams = "upstream: {api: {url: 'ftp://127.0.0.1'}}"
        let found = errors(sample.yaml)
        #expect(found.count == 2 && found[1].hasPrefix("2: upstreams.api.url: must begin with http://"), "\(found)")
        // A listener that is read twice is no second one.
        sample = Sample()
        sample.listeners = "listeners: [{address: '127.0.0.1:8080', proxy_protocl: {trusted: [10.0.0.1]}}]"
        #expect(
            errors(sample.yaml).map { $0.drop { $0 != " " } } == [
                " listeners[0].proxy_protocl: unknown key (did you mean \"proxy_protocol\"?)"
            ])
        // A key under its own name stays, and one that resembles nothing is missing.
        sample = Sample()
        sample.more = "upstream: {api: {url: 'http://127.0.0.1:1'}}"
        #expect(errors(sample.yaml) == ["5: upstream: unknown key (did you mean \"upstreams\"?)"])
        sample = Sample()
        sample.upstreams = "backends: {api: {url: 'http://127.0.0.1:8000'}}"
        #expect(errors(sample.yaml).contains("1: upstreams: is missing"))
    }

    @Test("A suggestion never shows what an environment variable holds")
    func variables() {
        var sample = Sample()
        sample.more = "limits: {token_bytes: '${SIZE}'}"
        let found = errors(sample.yaml, environment: ["SIZE": "8192KB"])
        #expect(found.count == 1 && !found[0].contains("8192"), "\(found)")
    }

    @Test("A file that is not UTF-8 is told with its line")
    func encoding() {
        #expect(throws: SettingsErrors.self) {
            _ = try GatewaySettings.load(path: "g.yaml", environment: [:]) { (_) throws(FileReadFailure) in
                Array("a: 1\nb: ".utf8) + [0xFF, 0x0A]
            }
        }
        do {
            _ = try SettingsSource(Array("a: 1\nb: ".utf8) + [0xFF, 0x0A])
            Issue.record("was read")
        } catch {
            #expect(error.line == 2)
        }
    }

    @Test("A file that can't be read is told")
    func unreadable() {
        do throws(SettingsErrors) {
            _ = try GatewaySettings.load(path: "/nowhere/gatehouse.yaml", environment: [:])
            Issue.record("was read")
        } catch {
            #expect(
                error.description
                    == "/nowhere/gatehouse.yaml:1: the settings can't be read: there is no such file")
        }
    }

    @Test("A fault can't drive the terminal")
    func controlCharacters() {
        var sample = Sample()
        sample.more = "\"th\\e[2Jreads\": 1\nthreads: \"\\e[31m\""
        for error in errors(sample.yaml) {
            #expect(!error.unicodeScalars.contains("\u{1B}"))
        }
        #expect(errors(sample.yaml).count == 2)
    }
}
