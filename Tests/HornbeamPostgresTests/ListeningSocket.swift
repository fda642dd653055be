#if Postgres
import Foundation
import Glibc

/// A socket that listens, and accepts connections on a thread of its own until it is released.
final class ListeningSocket: Sendable {
    let descriptor: Int32

    /// - Parameter descriptor: Of a socket that listens. It is closed after the last connection.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Is called once.
    ///
    /// - Parameter body: Receives each connection, which it closes.
    func acceptEach(_ body: @escaping @Sendable (Int32) -> Void) {
        Thread.detachNewThread { [descriptor] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { break }
                body(client)
            }
            close(descriptor)
        }
    }

    // The thread closes the descriptor. If it was closed here, another socket could receive its number while `body` runs, and lose a connection to this one.
    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
#endif
