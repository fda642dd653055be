#if Postgres
import Foundation
import Glibc

/// A socket that listens at a free loopback port, and accepts connections on a thread of its own until it is released.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let listener: ListeningSocket
    var descriptor: Int32 { listener.descriptor }

    /// - Parameter body: Receives each connection, which it closes.
    init(_ body: @escaping @Sendable (Int32) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard listener >= 0, isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        self.listener = ListeningSocket(listener)
        self.listener.acceptEach(body)
    }
}
#endif
