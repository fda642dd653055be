#if Postgres
import Foundation
import Glibc

/// A server at a loopback port that sends the same bytes to each client, as the answer to its first message.
final class FirstAnswer: Sendable {
    let port: UInt16
    private let listener: Int32

    init(_ answer: [UInt8]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(listener, 4) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard listener >= 0, isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        self.listener = listener
        Thread.detachNewThread {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                var request = [UInt8](repeating: 0, count: 4096)
                _ = read(client, &request, request.count)
                _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
                // Until the client closes the connection.
                while read(client, &request, request.count) > 0 {}
                close(client)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// A message of the server's protocol.
    static func message(_ kind: Character, _ bytes: [UInt8]) -> [UInt8] {
        let length = UInt32(bytes.count + 4)
        return Array(String(kind).utf8) + (0 ..< 4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) } + bytes
    }
}
#endif
