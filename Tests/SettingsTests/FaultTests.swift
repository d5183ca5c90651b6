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
                "4: listeners[2].address: is missing",
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
            ("a: 1\nb: [1, 2\nc: 3\n", "3: not valid YAML"),
            ("a: 1\n\tb: 2\n", "2: not valid YAML"),
            ("a: b: c\n", "1: not valid YAML"),
            (String(repeating: "[", count: 5000), "1: not valid YAML here: sections and lists are nested too deeply"),
            ("a: &x y\n*x : 1\n*x : 2\n", "1: a key is given more than once"),
            ("a: *nowhere\n", "1: not valid YAML"),
            ("a: 1\n---\nb: 2\n", "2: not valid YAML"),
            ("a: 1\nb: \u{1}\n", "2: not valid YAML"),
            ("\"\\x61\": 1\na: 2\n", "1: a key is given more than once"),
        ])
    func syntax(yaml: String, expected: String) {
        let found = errors(yaml)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
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
