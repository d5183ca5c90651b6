import Foundation
import GatehouseClientTesting
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Requests through URLSession", .timeLimit(.minutes(10)))
struct URLSessionTransportTests {
    private static let away = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 4\r\n\r\naway"

    @Test("swift-corelibs-foundation#5524: URLSession follows no redirect by itself, whole body or not")
    func redirect() async throws {
        let server = try LoopbackListener(response: Self.away)
        let transport = URLSessionTransport()
        let (response, data) = try await transport.data(URLRequest(url: server.url), uploading: nil)
        #expect(response.statusCode == 302)
        #expect(response.value(forHTTPHeaderField: "Location") == "http://127.0.0.1:1/")
        #expect(data == Data("away".utf8))
        let (head, body) = try await transport.send(URLRequest(url: server.url), uploading: nil)
        #expect(head.statusCode == 302)
        var pieces = Data()
        for try await piece in body { pieces.append(piece) }
        #expect(pieces == Data("away".utf8))
    }

    @Test("A file is uploaded as the body")
    func upload() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("body".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try LoopbackListener(response: "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
        var request = URLRequest(url: server.url)
        request.httpMethod = "POST"
        let (response, data) = try await URLSessionTransport().data(request, uploading: file)
        #expect(response.statusCode == 201)
        #expect(data == Data("ok".utf8))
    }

    @Test("A connection that URLSession cancels, as one with a refused pin, ends in URLError: no task is cancelled")
    func refusedPin() async throws {
        let delegate = TaskDelegate()
        let url = try #require(URL(string: "https://gateway.example"))
        // Never resumed.
        let task = URLSession.shared.dataTask(with: URLRequest(url: url))
        await #expect(throws: URLError(.cancelled)) {
            _ = try await withCheckedThrowingContinuation { head in
                delegate.begin(task, head: head)
                delegate.urlSession(.shared, task: task, didCompleteWithError: URLError(.cancelled))
            }
        }
    }

    @Test(
        "A request ends whenever it is cancelled, also as it begins or completes",
        arguments: [nil, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"])
    func cancelledAtAnyTime(response: String?) async throws {
        // On Linux URLSession's own collecting waits for itself then, and ends the process if a task is cancelled as it
        // completes.
        let server = try LoopbackListener(response: response)
        let transport = URLSessionTransport()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for turn in 0..<100 {
                        let task = Task { try await transport.data(URLRequest(url: server.url), uploading: nil) }
                        for _ in 0..<turn % 5 { await Task.yield() }
                        task.cancel()
                        _ = await task.result
                    }
                }
            }
        }
    }

    @Test("Requests that were cancelled before a response came hold up no other")
    func afterCancelled() async throws {
        let server = try LoopbackListener(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", hangsFirst: 20)
        let transport = URLSessionTransport()
        for _ in 0..<20 {
            let task = Task { try await transport.data(URLRequest(url: server.url), uploading: nil) }
            await server.requested()
            task.cancel()
            _ = await task.result
        }
        let began = ContinuousClock.now
        let (_, data) = try await transport.data(URLRequest(url: server.url), uploading: nil)
        #expect(data == Data("ok".utf8) && .now - began < .seconds(20))
    }

    @Test("A request that is cancelled while nothing comes ends as cancelled")
    func cancelled() async throws {
        let wifi = try LoopbackListener(response: nil)
        let transport = URLSessionTransport()
        let task = Task { try await transport.data(URLRequest(url: wifi.url), uploading: nil) }
        task.cancel()
        let result = await task.result
        #expect(throws: (any Error).self) { try result.get() }
        if case .failure(let error) = result {
            #expect(error is CancellationError || (error as? URLError)?.code == .cancelled)
        }
    }
}
