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

        var turn: String { hasTurn ? "has it" : isNext ? "is next" : "" }
    }

    /// The lock bytes of `meta`, as `Docs/FileFormat.md` lists them.
    private static let (openByte, turnByte, nextByte): (Int64, Int64, Int64) = (0, 1, 2)

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
                add(Self.locks(in: text), to: &found)
            }
            entry = found
        }
        return entry
    }

    private static func name(of process: String) -> String {
        (try? String(contentsOfFile: process + "/comm", encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "?"
    }

    private static func add(_ locks: [Lock], to entry: inout Entry) {
        for lock in locks {
            if lock.bytes.contains(openByte) { entry.access = lock.isExclusive ? .writing : .sharing }
            if lock.bytes.contains(turnByte), lock.isExclusive { entry.hasTurn = entry.hasTurn || entry.access != .writing }
            if lock.bytes.contains(nextByte), lock.isExclusive { entry.isNext = true }
        }
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
