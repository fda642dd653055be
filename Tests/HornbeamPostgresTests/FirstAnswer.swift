#if Postgres
import Foundation
import Glibc

/// A server at a loopback port that sends the same bytes to each client, as the answer to its first message.
final class FirstAnswer: Sendable {
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }

    init(_ answer: [UInt8]) throws {
        listener = try LoopbackListener { client in
            var request = [UInt8](repeating: 0, count: 4096)
            _ = read(client, &request, request.count)
            _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
            // Until the client closes the connection.
            while read(client, &request, request.count) > 0 {}
            close(client)
        }
    }

    /// A message of the server's protocol.
    static func message(_ kind: Character, _ bytes: [UInt8]) -> [UInt8] {
        let length = UInt32(bytes.count + 4)
        return Array(String(kind).utf8) + (0 ..< 4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) } + bytes
    }
}
#endif
