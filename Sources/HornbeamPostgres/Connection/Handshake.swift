#if Postgres
internal import CPostgres
internal import Glibc

/// Connects to a server: sends the parameters, and waits until the server accepts the connection.
struct Handshake {
    private let parameters: String
    private let deadline: Deadline

    init(_ parameters: String, until deadline: Deadline) {
        self.parameters = parameters
        self.deadline = deadline
    }

    /// Settings that the connection string can replace. A connection whose other end has vanished is noticed after about half a minute, and a host that does
    /// not answer after ten seconds.
    private static let defaults = [
        ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "10000"),
        ("fallback_application_name", "hornbeam"),
    ]

    /// An open connection.
    ///
    /// - Throws: `PostgresError` of the kind `handshake`.
    func connect() throws(PostgresError) -> OpaquePointer {
        guard isReadable, let handle = unsafe start() else { throw Self.invalidParameters }
        // Errors then begin with their SQLSTATE, which libpq does not return otherwise.
        unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        // An attempt that has failed at once, such as one without the server's socket, has no socket to wait for.
        var state = unsafe PQstatus(handle) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while state == PGRES_POLLING_WRITING || state == PGRES_POLLING_READING {
            guard unsafe wait(handle, forWriting: state == PGRES_POLLING_WRITING) else {
                unsafe PQfinish(handle)
                throw PostgresError(kind: .handshake, message: "the server has not accepted a connection within the time limit")
            }
            state = unsafe PQconnectPoll(handle)
        }
        guard state == PGRES_POLLING_OK, unsafe PQstatus(handle) == CONNECTION_OK else {
            let lines = unsafe Connection.lines(PQerrorMessage(handle))
            unsafe PQfinish(handle)
            // Of several hosts, the one whose server has answered.
            throw error(lines.first { !Self.parts(of: $0).state.isEmpty } ?? lines[0])
        }
        unsafe PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        return unsafe handle
    }

    private static let invalidParameters = PostgresError(
        kind: .handshake, message: "its parameters are invalid; in a URI, escape special characters of the password (@ is %40)")

    private var isReadable: Bool {
        guard let options = unsafe PQconninfoParse(parameters, nil) else { return false }
        unsafe PQconninfoFree(options)
        return true
    }

    private func start() -> OpaquePointer? {
        let pairs = Self.defaults + [("dbname", parameters)]
        // Later values replace earlier ones. libpq expands the connection string in place of the name of the database.
        var keywords: [UnsafeMutablePointer<CChar>?] = unsafe pairs.map { unsafe strdup($0.0) } + [nil]
        var values: [UnsafeMutablePointer<CChar>?] = unsafe pairs.map { unsafe strdup($0.1) } + [nil]
        defer {
            for unsafe text in unsafe keywords { unsafe free(text) }
            for unsafe text in unsafe values { unsafe free(text) }
        }
        return unsafe keywords.withUnsafeMutableBufferPointer { names in
            unsafe names.withMemoryRebound(to: UnsafePointer<CChar>?.self) { names in
                unsafe values.withUnsafeMutableBufferPointer { values in
                    unsafe values.withMemoryRebound(to: UnsafePointer<CChar>?.self) { values in
                        unsafe PQconnectStartParams(names.baseAddress, values.baseAddress, 1)
                    }
                }
            }
        }
    }

    /// Waits for the socket. False at the deadline.
    private func wait(_ handle: OpaquePointer, forWriting: Bool) -> Bool {
        while true {
            let rest = deadline.milliseconds(atMost: 1_000)
            guard rest > 0 else { return false }
            var descriptor = pollfd(fd: unsafe PQsocket(handle), events: Int16(forWriting ? POLLOUT : POLLIN), revents: 0)
            if unsafe poll(&descriptor, 1, Int32(rest)) > 0 { return true }
        }
    }

    private func error(_ text: String) -> PostgresError {
        let (state, message) = Self.parts(of: text)
        // libpq repeats parameters that it cannot read.
        if isAmbiguous || message.contains("invalid") || message.contains("URI") || message.contains(parameters) && !parameters.isEmpty {
            return Self.invalidParameters
        }
        return PostgresError(kind: .handshake, state: state, message: message)
    }

    /// True for a URI of which libpq takes a part of the password as a host name or a port: after an unescaped @, and before an unescaped / or ?. By bytes:
    /// a mark that combines with @ would be one character with it.
    private var isAmbiguous: Bool {
        let bytes = Array(parameters.utf8)
        guard let scheme = bytes.firstRange(of: Array("://".utf8)) else { return false }
        let rest = bytes[scheme.upperBound...]
        guard let end = rest.firstIndex(of: UInt8(ascii: "@")) else { return false }
        return rest[(end + 1)...].contains(UInt8(ascii: "@")) || rest[..<end].contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    }

    /// The SQLSTATE of a text such as “… failed: FATAL:  57P03: the database system is starting up”, and the text without it.
    private static func parts(of text: String) -> (state: String, message: String) {
        var words = text.split(separator: " ", omittingEmptySubsequences: false)
        let place = words.firstIndex { word in
            word.utf8.count == 6 && word.hasSuffix(":") && word.dropLast().utf8.allSatisfy { (48 ... 57).contains($0) || (65 ... 90).contains($0) }
                && word.utf8.contains { (48 ... 57).contains($0) }
        }
        guard let place else { return ("", text) }
        let state = String(words.remove(at: place).dropLast())
        return (state, words.joined(separator: " "))
    }
}
#endif
