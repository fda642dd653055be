#if Postgres
import Foundation
import Glibc
import Synchronization

/// Forwards connections on a Unix socket to the server's socket, and closes one of them after a given number of messages.
final class SocketProxy: Sendable {
    enum Direction: CaseIterable { case toServer, fromServer }

    /// How a server is away.
    enum Absence: CaseIterable {
        /// It closes new connections.
        case closed
        /// It answers with SQLSTATE 57P03, as during a start.
        case starting
    }

    private struct Conversation {
        var last = Direction.fromServer
        /// True for a connection that waits for notifications. It is not counted, closed or held, because it reads at any time.
        var isListener = false
        /// The answers since a call of `holdAnswers`.
        var hold = 0
        var answers = 0
    }

    private struct Cut {
        var direction: Direction
        var rest: Int
    }

    /// The folder of the socket, for `host` in a connection string.
    let folder: String
    private let serverFolder: String
    private let listener: ListeningSocket
    private let cuts = Mutex<[Cut]>([])
    private let absence = Mutex<Absence?>(nil)
    private let hook = Mutex<(rest: Int, body: @Sendable () -> Void)?>(nil)
    private let hold = Mutex<(number: Int, answers: Int?)>((0, nil))
    private let cutCount = Atomic<Int>(0)
    private let tripCount = Atomic<Int>(0)

    /// - Parameter server: The folder of the server's socket.
    init(server: String) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "p" + UUID().uuidString.prefix(8)).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        serverFolder = server
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let status = Self.withAddress(folder + "/.s.PGSQL.5432") { bind(descriptor, $0, $1) }
        guard descriptor >= 0, status == 0, listen(descriptor, 16) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        listener = ListeningSocket(descriptor)
        listener.acceptEach { [weak self] client in
            guard let self, !self.refuses(client), let server = self.connect() else {
                close(client)
                return
            }
            Thread.detachNewThread { [weak self] in
                var conversation = Conversation()
                while let proxy = self, proxy.forward(client, server, &conversation) {}
                close(client)
                close(server)
            }
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Closes the connection that carries the message with a number, counted from 1, instead of forwarding the message.
    func closeAtMessage(_ number: Int, _ direction: Direction) { cuts.withLock { $0 = [Cut(direction: direction, rest: number)] } }

    /// Closes a second connection after the first. Its messages are counted from the first one after that.
    func thenCloseAtMessage(_ number: Int, _ direction: Direction) { cuts.withLock { $0.append(Cut(direction: direction, rest: number)) } }

    /// How often a client has sent something, and then waited for the server.
    var roundTripCount: Int { tripCount.load(ordering: .relaxed) }

    /// The number of connections that were closed.
    var closedCount: Int { cutCount.load(ordering: .relaxed) }

    /// Lets no new connection reach the server until it is called with nil.
    func setAway(_ absence: Absence?) { self.absence.withLock { $0 = absence } }

    /// Calls a closure before the message with a number to the server is forwarded, counted from 1.
    func beforeMessage(_ number: Int, _ body: @escaping @Sendable () -> Void) { hook.withLock { $0 = (number, body) } }

    /// Forwards so many answers of the server to each connection, and keeps the rest until it is called with nil.
    func holdAnswers(after count: Int?) { hold.withLock { $0 = ($0.number + 1, count) } }

    private func refuses(_ client: Int32) -> Bool {
        guard let absence = absence.withLock({ $0 }) else { return false }
        if absence == .starting {
            var bytes = [UInt8](repeating: 0, count: 4096)
            _ = read(client, &bytes, bytes.count)
            let fields = "SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
            let length = UInt32(fields.utf8.count + 4)
            let message = [UInt8(ascii: "E")] + (0 ..< 4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) } + Array(fields.utf8)
            _ = send(client, message, message.count, Int32(MSG_NOSIGNAL))
        }
        return true
    }

    private func callHook() {
        let body = hook.withLock { hook -> (@Sendable () -> Void)? in
            hook?.rest -= 1
            guard let next = hook, next.rest == 0 else { return nil }
            hook = nil
            return next.body
        }
        body?()
    }

    private func waitWhileHeld(_ conversation: inout Conversation) {
        while true {
            let (number, limit) = hold.withLock { $0 }
            if conversation.hold != number { (conversation.hold, conversation.answers) = (number, 0) }
            guard let limit, conversation.answers >= limit else { break }
            usleep(1_000)
        }
        conversation.answers += 1
    }

    /// Forgets messages that have not come.
    func forwardAll() { cuts.withLock { $0 = [] } }

    private func connect() -> Int32? { Self.connection(toServer: serverFolder) }

    /// - Parameter folder: The folder of the server's socket.
    static func connection(toServer folder: String) -> Int32? {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        if withAddress(folder + "/.s.PGSQL.5432", { Glibc.connect(server, $0, $1) }) == 0 { return server }
        close(server)
        return nil
    }

    /// Forwards what one side has sent. Returns false when the connection is to be closed.
    private func forward(_ client: Int32, _ server: Int32, _ conversation: inout Conversation) -> Bool {
        var sides = [pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: server, events: Int16(POLLIN), revents: 0)]
        guard poll(&sides, 2, 100) >= 0 else { return errno == EINTR }
        if sides[1].revents != 0, sides[0].revents == 0, conversation.last == .toServer, !conversation.isListener {
            // A client that does not wait for this answer may be sending more: that belongs to the same round trip.
            var more = sides[0]
            if poll(&more, 1, 5) > 0 { (sides[0], sides[1].revents) = (more, 0) }
        }
        for (side, direction) in zip(sides, [Direction.toServer, .fromServer]) where side.revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(side.fd, &bytes, bytes.count)
            if count <= 0 { return false }
            if direction == .toServer, bytes[..<count].firstRange(of: Array("LISTEN ".utf8)) != nil { conversation.isListener = true }
            if !conversation.isListener {
                if isCut(direction) { return false }
                if direction == .toServer { callHook() } else if conversation.last == .toServer { waitWhileHeld(&conversation) }
                if direction == .toServer, conversation.last == .fromServer, !Self.isLoneCommit(bytes[..<count]) { tripCount.add(1, ordering: .relaxed) }
            }
            conversation.last = direction
            var sent = 0
            while sent < count {
                let target = direction == .toServer ? server : client
                let written = bytes[sent ..< count].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if written <= 0 { return false }
                sent += written
            }
        }
        return true
    }

    /// True for the COMMIT that ends the reads of a fetch. The client does not wait for its answer, which `OneStateTests` shows.
    private static func isLoneCommit(_ bytes: ArraySlice<UInt8>) -> Bool { bytes.count < 100 && bytes.firstRange(of: Array("COMMIT".utf8)) != nil }

    private func isCut(_ direction: Direction) -> Bool {
        cuts.withLock { cuts in
            guard cuts.first?.direction == direction else { return false }
            cuts[0].rest -= 1
            guard cuts[0].rest == 0 else { return false }
            cuts.removeFirst()
            cutCount.add(1, ordering: .relaxed)
            return true
        }
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8) + [0]
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}
#endif
