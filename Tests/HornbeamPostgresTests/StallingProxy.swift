#if Postgres
import Foundation
import Glibc
import Synchronization

/// Forwards connections at a loopback port to the server's socket. It can stop reading a connection that has sent much, and keeps the connection open.
final class StallingProxy: Sendable {
    private let listener: LoopbackListener
    private let limit: Limit
    var port: UInt16 { listener.port }

    /// The number of bytes after which a connection is not read, and whether the proxy has ended. The threads of the connections keep it.
    private final class Limit: Sendable {
        let count = Mutex<Int?>(nil)
        let isOver = Atomic(false)
    }

    /// - Parameter server: The folder of the server's socket.
    init(server: String) throws {
        let limit = Limit()
        self.limit = limit
        listener = try LoopbackListener { client in
            guard let server = SocketProxy.connection(toServer: server) else {
                close(client)
                return
            }
            Thread.detachNewThread {
                var sent = 0
                while !limit.isOver.load(ordering: .relaxed), Self.forward(client, server, &sent, limit) {}
                close(client)
                close(server)
            }
        }
    }

    deinit { limit.isOver.store(true, ordering: .relaxed) }

    /// Reads nothing more from a connection that has sent so many bytes, until it is called with nil.
    func stopReading(after count: Int?) { limit.count.withLock { $0 = count } }

    /// Forwards what one side has sent. Returns false when the connection has ended.
    private static func forward(_ client: Int32, _ server: Int32, _ sent: inout Int, _ limit: Limit) -> Bool {
        let isStalled = limit.count.withLock { [sent] in $0.map { sent >= $0 } ?? false }
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
