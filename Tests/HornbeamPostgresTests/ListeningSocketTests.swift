#if Postgres
import Foundation
import Glibc
import Testing

struct ListeningSocketTests {
    /// A test of a standby received the connection of another test, whose socket had the number of the released one.
    @Test func descriptorIsNotReusedWhileAConnectionIsServed() throws {
        let (isServing, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var listener: LoopbackListener? = try LoopbackListener { client in
            isServing.signal()
            mayEnd.wait()
            close(client)
        }
        let descriptor = try #require(listener?.descriptor)
        let number = try socketNumber(descriptor)
        let client = try connection(port: #require(listener?.port))
        isServing.wait()
        listener = nil
        #expect(try socketNumber(descriptor) == number)
        mayEnd.signal()
        close(client)
        // The thread closes it when it has served the connection.
        while (try? socketNumber(descriptor)) == number { usleep(1_000) }
    }

    private func socketNumber(_ descriptor: Int32) throws -> UInt {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw POSIXError(.EBADF) }
        return UInt(status.st_ino)
    }

    private func connection(port: UInt16) throws -> Int32 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
        return client
    }
}
#endif
