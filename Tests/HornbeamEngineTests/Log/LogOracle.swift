@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Commits whose content follows from their number, so that a test recognises any prefix of them.
struct LogOracle {
    static let store = StoreIdentifier(high: 11, low: 22)
    let fileSystem: any FileSystem
    let disk: SimulatedDisk?
    var options = LogOptions(firstSegmentBytes: 16384, largestSegmentBytes: 32768, salt: { 0x5A17 })

    struct WrongState: Error, CustomStringConvertible {
        let description: String
    }

    private static let records = (0..<64).map { make($0) }

    static func record(_ number: UInt64) -> TransactionRecord { records[Int(number)] }

    private static func make(_ number: UInt64) -> TransactionRecord {
        var random = SplitMix(seed: number)
        let count = [40, 700, 3000, 9000][Int(number % 4)]
        let isCompressible = number % 3 == 0
        let word = withUnsafeBytes(of: random.next()) { [UInt8]($0) }
        let other = withUnsafeBytes(of: random.next()) { [UInt8]($0) }
        var payload = word
        while payload.count < count { payload += isCompressible ? word : payload.suffix(99).map { $0 &* 31 &+ 7 } + other }
        return TransactionRecord(number: TransactionNumber(number), payload: payload)
    }

    func createFolder() throws {
        if try !fileSystem.exists("s") {
            try fileSystem.createDirectory("s")
            try fileSystem.syncDirectory(".", .pageFileNames)
        }
    }

    func makeWriter(continuing end: LogMark = .origin) throws -> LogWriter {
        try LogWriter(
            directory: "s", fileSystem: fileSystem, store: Self.store, continuing: end, nextSegment: LogSegmentNumber(1),
            options: options)
    }

    /// Appends commits in groups and syncs after every `groupsPerSync`-th.
    func write(_ numbers: ClosedRange<UInt64>, to writer: LogWriter, groupsPerSync: Int = 1) throws {
        var next = numbers.lowerBound
        var groups = 0
        while next <= numbers.upperBound {
            let last = min(numbers.upperBound, next + next % 3)
            disk?.mark(.submitted(last))
            _ = try writer.append((next...last).map(Self.record))
            groups += 1
            if groups % groupsPerSync == 0 || last == numbers.upperBound {
                _ = try writer.sync()
                disk?.mark(.acknowledged(last))
            } else if groups % 2 == 0, writer.needsPreparedSegment {
                try writer.prepareSegment()
            }
            next = last + 1
        }
    }

    /// The number of commits that replay delivers, all of them verified.
    func replay(knownDurable: LogPosition = .zero) throws -> (count: UInt64, end: LogEnd) {
        guard try fileSystem.exists("s") else { return (0, LogEnd(mark: .origin)) }
        let reader = LogReader(directory: "s", fileSystem: fileSystem, store: Self.store)
        var count: UInt64 = 0
        var wrong: String?
        let end = try reader.replay(
            from: .origin, oldest: LogSegmentNumber(1), cleanlyClosed: true, knownDurable: knownDurable
        ) { (number, payload, _) throws(EngineError) in
            count += 1
            let expected = Self.record(count)
            if number != expected.number || [UInt8](payload) != expected.payload {
                wrong = wrong ?? "commit \(number) has the wrong content at place \(count)"
            }
        }
        if let wrong { throw WrongState(description: wrong) }
        return (count, end)
    }

    /// Replays an image, compares it with the acknowledged commits, and continues to use it.
    static func verify(_ image: CrashEnumerator.Image) throws {
        let oracle = LogOracle(fileSystem: image.disk, disk: image.disk)
        let (count, end) = try oracle.replay()
        guard (image.acknowledged...image.submitted).contains(count) else {
            throw WrongState(description: "\(count) commits came back")
        }
        guard image.depth < 2 else { return }
        try oracle.createFolder()
        let writer = try oracle.makeWriter(continuing: end.mark)
        try oracle.write(count + 1...count + 2, to: writer)
        let again = try oracle.replay()
        guard again.count == count + 2 else {
            throw WrongState(description: "after two more commits \(again.count) came back instead of \(count + 2)")
        }
    }
}
