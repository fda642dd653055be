#if Postgres
import Foundation
import Glibc
import Synchronization

/// Forwards connections at a loopback port to the server's socket. It can stop reading a connection that has sent much, and keeps the connection open.
final class StallingProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let limit = Mutex<Int?>(nil)

    /// - Parameter server: The folder of the server's socket.
    init(server: String) throws {
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
        self.listener = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                guard let server = SocketProxy.connection(toServer: server) else {
                    close(client)
                    continue
                }
                Thread.detachNewThread { [weak self] in
                    var sent = 0
                    while let proxy = self, proxy.forward(client, server, &sent) {}
                    close(client)
                    close(server)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Reads nothing more from a connection that has sent so many bytes, until it is called with nil.
    func stopReading(after count: Int?) { limit.withLock { $0 = count } }

    /// Forwards what one side has sent. Returns false when the connection has ended.
    private func forward(_ client: Int32, _ server: Int32, _ sent: inout Int) -> Bool {
        let isStalled = limit.withLock { [sent] in $0.map { sent >= $0 } ?? false }
        // A negative descriptor is not watched.
        var sides = [pollfd(fd: isStalled ? -1 : client, events: Int16(POLLIN), revents: 0), pollfd(fd: server, events: Int16(POLLIN), revents: 0)]
        guard poll(&sides, 2, 20) >= 0 else { return errno == EINTR }
        for (side, target) in zip(sides, [server, client]) where side.revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(side.fd, &bytes, bytes.count)
            if count <= 0 { return false }
            if target == server { sent += count }
            var written = 0
            while written < count {
                let part = bytes[written ..< count].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if part <= 0 { return false }
                written += part
            }
        }
        return true
    }
}
#endif
