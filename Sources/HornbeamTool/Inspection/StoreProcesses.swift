import Foundation

/// The processes that have a store open. The kernel lists the open files and locks of each process of the same user in `/proc`; so nothing is
/// recorded in the store, and a process that was killed is not listed.
struct StoreProcesses {
    struct Entry: Equatable {
        enum Access: String {
            case reading
            /// The only writer.
            case writing
            /// Writes in turns with others.
            case sharing = "writing in turns"
        }

        var identifier: Int32
        var name: String
        var access: Access
        /// The process has the turn.
        var hasTurn = false
        /// The process gets the turn next.
        var isNext = false
        /// The number of bytes of the log that the process has not read yet; nil for a process that does not share the store.
        var unreadBytes: Int?
        /// The time for which the oldest snapshot of the process has not been the newest state, in seconds; nil if there is no such snapshot. As of
        /// the last time that the process read commits of others, or handed the turn over.
        var snapshotAge: Int?

        var turn: String { hasTurn ? "has it" : isNext ? "is next" : "" }
    }

    /// The lock bytes of `meta`, as `Docs/FileFormat.md` lists them.
    private static let (openByte, turnByte, nextByte): (Int64, Int64, Int64) = (0, 1, 2)
    private static let (blocks, seconds): (Int64, Int64) = (1 << 60, 1 << 61)
    /// The durable position of the log in the file `lock`.
    private static let durablePosition = 8..<16

    let list: [Entry]

    /// - Parameter excluded: A process to omit: the tool itself opens the store for reading.
    init(path: String, excluding excluded: Int32 = getpid()) {
        let folder = URL(filePath: path).resolvingSymlinksInPath().path
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
        list = numbers.sorted().filter { $0 != excluded }.compactMap { Self.entry($0, folder) }
    }

    private static func entry(_ identifier: Int32, _ folder: String) -> Entry? {
        let process = "/proc/\(identifier)"
        guard let descriptors = try? FileManager.default.contentsOfDirectory(atPath: process + "/fd") else { return nil }
        var entry: Entry?
        for descriptor in descriptors {
            guard let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(process)/fd/\(descriptor)"), file.hasPrefix(folder + "/")
            else { continue }
            let name = file.dropFirst(folder.count + 1)
            guard name == "meta" || name.hasPrefix("pages-") else { continue }
            var found = entry ?? Entry(identifier: identifier, name: Self.name(of: process), access: .reading)
            if name == "meta", let text = try? String(contentsOfFile: "\(process)/fdinfo/\(descriptor)", encoding: .utf8) {
                add(Self.locks(in: text), to: &found, folder)
            }
            entry = found
        }
        return entry
    }

    private static func name(of process: String) -> String {
        (try? String(contentsOfFile: process + "/comm", encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "?"
    }

    private static func add(_ locks: [Lock], to entry: inout Entry, _ folder: String) {
        for lock in locks {
            if (blocks..<seconds).contains(lock.bytes.lowerBound), let end = durableEnd(folder) {
                let read = min(Int(lock.bytes.lowerBound - blocks), Int.max >> 12) << 12
                entry.unreadBytes = max(end - read, 0)
            }
            if (seconds..<Int64.max).contains(lock.bytes.lowerBound) {
                entry.snapshotAge = max(Int(ProcessInfo.processInfo.systemUptime) - Int(lock.bytes.lowerBound - seconds), 0)
            }
            if lock.bytes.contains(openByte) { entry.access = lock.isExclusive ? .writing : .sharing }
            if lock.bytes.contains(turnByte), lock.isExclusive { entry.hasTurn = entry.hasTurn || entry.access != .writing }
            if lock.bytes.contains(nextByte), lock.isExclusive { entry.isNext = true }
        }
    }

    /// The end of the durable log; nil if the file `lock` has no position, or one that no log reaches.
    private static func durableEnd(_ folder: String) -> Int? {
        guard let file = FileManager.default.contents(atPath: folder + "/lock"), file.count >= durablePosition.upperBound else { return nil }
        return Int(exactly: file[durablePosition].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    /// A lock of an open file: `lock: 1: OFDLCK ADVISORY READ -1 fe:00:1234 0 0`.
    struct Lock: Equatable {
        var isExclusive: Bool
        var bytes: ClosedRange<Int64>
    }

    static func locks(in text: String) -> [Lock] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 9, words[0] == "lock:", words[2] == "OFDLCK", let first = Int64(words[7]) else { return nil }
            let last = words[8] == "EOF" ? Int64.max : Int64(words[8]) ?? first
            return Lock(isExclusive: words[4] == "WRITE", bytes: first...max(first, last))
        }
    }
}
