import HornbeamEngine

/// Opens and uses a maliciously crafted store. It must return a result or throw an error, and a store that could be written
/// and closed must open again.
struct HostileStore {
    static let path = EngineOracle.path
    let image: StoreImage

    static let options: EngineOptions = {
        var options = EngineOracle.smallest
        options.checkpointLogBytes = 1 << 20
        options.attachThreshold = 1 << 20
        options.frameCeiling = 1000
        options.log = LogOptions(firstSegmentBytes: 65536, largestSegmentBytes: 65536, compresses: false)
        return options
    }()

    /// Both kinds of tree with at least two levels, large values, and one with several chunks; all in page files.
    static let closed = try! HostileStore(isClosed: true)
    /// Smaller, with all content in the log.
    static let unclosed = try! HostileStore(isClosed: false)

    private init(isClosed: Bool) throws {
        let fileSystem = MemoryFileSystem()
        let engine = try Engine.open(Self.path, fileSystem: fileSystem, options: Self.options)
        try Self.fill(engine, isLarge: isClosed)
        if isClosed { try engine.close() }
        image = try StoreImage(fileSystem, Self.path)
        if !isClosed { try engine.close() }
    }

    private static func fill(_ engine: Engine, isLarge: Bool) throws {
        let layout = ColumnLayout(
            version: 1,
            columns: [
                Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes), Column(id: ColumnID(3), kind: .bit),
                Column(id: ColumnID(4), kind: .fixed2, fill: [7, 0]),
            ])
        var transaction = try engine.begin()
        let index = try transaction.createIndex(named: "index")
        let table = try transaction.createTable(named: "table", layout: layout)
        _ = try transaction.commit()
        let row = RowBuffer(layout: layout)
        for round in 0..<(isLarge ? 12 : 3) {
            transaction = try engine.begin()
            for n in 0..<(isLarge ? 25 : 4) {
                let number = round * 25 + n
                try transaction.put(Array("key \(number * 7919 % 1000)".utf8), [UInt8](repeating: UInt8(n), count: n), in: index)
                row.reset()
                row.set(0, UInt64(number))
                row.setString(1, "text \(number)")
                row.setBit(2, n % 2 == 0)
                try transaction.put(row, key: UInt64(number * 3 + 1), in: table)
            }
            _ = try transaction.reserve(10)
            _ = try transaction.commit()
        }
        guard isLarge else { return }
        transaction = try engine.begin()
        try transaction.put(Array("key long".utf8), [UInt8](repeating: 0xAB, count: 400), in: index)
        try transaction.put(Array("key longer".utf8), (0..<270_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 7) }, in: index)
        _ = try transaction.commit()
    }

    /// The ways to open a store.
    enum Opening: CaseIterable { case writing, reading, lastReadable, previousCheckpoint }

    /// Uses a store with these files in one way; throws a finding.
    static func use(_ files: [String: [UInt8]], _ opening: Opening) throws {
        var options = options
        if opening == .reading { options.isReadOnly = true }
        if opening == .lastReadable { options.startingPoint = .lastReadable }
        if opening == .previousCheckpoint { options.startingPoint = .previousCheckpoint }
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(path)
        for (name, bytes) in files { try bytes.withUnsafeBytes { try fileSystem.open("\(path)/\(name)", .create).write($0, at: 0) } }
        do throws(EngineError) {
            let engine = try Engine.open(path, fileSystem: fileSystem, options: options)
            FuzzStore.use(engine)
            try engine.close()
        } catch {
            guard !error.message.isEmpty else { throw Finding("an error without words") }
            return
        }
        guard opening != .reading else { return }
        // A store that was accepted, written and closed must be accepted again.
        do throws(EngineError) { try Engine.open(path, fileSystem: fileSystem, options: Self.options).close() } catch {
            throw Finding("a store that was written and closed is refused afterwards: \(error)")
        }
    }
}
