import HornbeamEngine

/// The files of a small store. A trial replaces one of them by the fuzzer's bytes.
struct FuzzStore {
    private let files: [String: [UInt8]]
    private let options: EngineOptions

    func content(_ kind: String) -> [UInt8] { files[file(kind)]! }

    /// The longest file whose name begins with this prefix: `meta`, `pages-` or `wal-`.
    func file(_ kind: String) -> String {
        files.filter { $0.key.hasPrefix(kind) }.max { ($0.value.count, $0.key) < ($1.value.count, $1.key) }!.key
    }

    /// A closed store: trees of two and three levels, with large values, in one page file.
    static let closed = try! FuzzStore(isClosed: true)
    /// A store that was not closed: all content is in the log.
    static let unclosed = try! FuzzStore(isClosed: false)

    private init(isClosed: Bool) throws {
        var options = EngineOracle.smallest
        options.checkpointLogBytes = 1 << 20
        options.attachThreshold = 1 << 20
        options.frameCeiling = 500
        self.options = options
        let fileSystem = MemoryFileSystem()
        let engine = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: options)
        try EngineOracle(transactions: 14, options: options).commit(to: engine, through: 14)
        if isClosed { try engine.close() }
        var files: [String: [UInt8]] = [:]
        for name in try fileSystem.list(EngineOracle.path) where !name.hasPrefix("spare") && name != "lock" {
            files[name] = try Self.read(fileSystem, name)
        }
        self.files = files
        if !isClosed { try engine.close() }
    }

    private static func read(_ fileSystem: MemoryFileSystem, _ name: String) throws -> [UInt8] {
        let file = try fileSystem.open("\(EngineOracle.path)/\(name)", .read)
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        _ = unsafe try bytes.withUnsafeMutableBytes { unsafe try file.read(into: $0, at: 0) }
        // A log segment ends with preallocated zeros.
        while bytes.last == 0 { bytes.removeLast() }
        return bytes
    }

    /// A small packed store.
    static let packed: [UInt8] = {
        let fileSystem = MemoryFileSystem()
        let engine = try! Engine.open(EngineOracle.path, fileSystem: fileSystem, options: EngineOracle.smallest)
        try! EngineOracle(transactions: 6).commit(to: engine, through: 6)
        _ = try! engine.pack(to: "a.hornbeamz")
        let file = try! fileSystem.open("a.hornbeamz", .read)
        var bytes = [UInt8](repeating: 0, count: Int(try! file.size()))
        _ = unsafe try! bytes.withUnsafeMutableBytes { unsafe try file.read(into: $0, at: 0) }
        return bytes
    }()

    /// Unpacks the bytes. A refused file must leave nothing, and an unpacked store must open.
    static func unpack(_ bytes: [UInt8]) throws {
        let fileSystem = MemoryFileSystem()
        unsafe try bytes.withUnsafeBytes { try unsafe fileSystem.open("a.hornbeamz", .create).write($0, at: 0) }
        do throws(EngineError) {
            _ = try Engine.unpack("a.hornbeamz", to: EngineOracle.path, fileSystem: fileSystem, options: HostileStore.options)
        } catch {
            let names = try fileSystem.list("")
            guard !error.message.isEmpty, names == ["a.hornbeamz"] else { throw Finding("a refused packed store leaves \(names): \(error)") }
            return
        }
        let engine: Engine
        do throws(EngineError) { engine = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: HostileStore.options) } catch {
            throw Finding("an unpacked store is refused: \(error)")
        }
        use(engine)
        try? engine.close()
    }

    /// Opens the store with other bytes in one file, and uses it. Each call must succeed or throw an error.
    func open(replacing kind: String, by bytes: [UInt8]) throws {
        let name = file(kind)
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(EngineOracle.path)
        for (file, content) in files {
            let original = file == name ? bytes : content
            // Padded with zeros to the original length, because the log is read to the end of the file.
            let count = max(original.count, file == name ? self.files[name]!.count : 0)
            let rounded = file == name || file.hasPrefix("wal") ? (count + 4095) & ~4095 : count
            let padded = original + [UInt8](repeating: 0, count: rounded - original.count)
            unsafe try padded.withUnsafeBytes { try unsafe fileSystem.open("\(EngineOracle.path)/\(file)", .create).write($0, at: 0) }
        }
        do throws(EngineError) {
            let engine = try Engine.open(EngineOracle.path, fileSystem: fileSystem, options: options)
            Self.use(engine)
            try engine.close()
        } catch {
            guard !error.message.isEmpty else { throw Finding("an error without a message") }
        }
    }

    /// Reads and writes the content of an open store. Failures must be errors, not traps.
    static func use(_ engine: Engine) {
        _ = try? engine.check()
        attempt { () throws(EngineError) in try readAll(try engine.snapshot()) }
        attempt { () throws(EngineError) in try write(engine) }
        attempt { () throws(EngineError) in try engine.checkpoint() }
    }

    private static func attempt(_ work: () throws(EngineError) -> Void) { do throws(EngineError) { try work() } catch {} }

    private static func readAll(_ snapshot: Snapshot) throws(EngineError) {
        var sum = 0
        for name in snapshot.treeNames {
            guard let id = snapshot.tree(named: name) else { continue }
            if let index = try? snapshot.index(id) {
                unsafe try index.forEach(in: KeyRange()) { key, value in
                    unsafe sum &+= key.count &+ value.count &+ Int(key.first ?? 0) &+ Int(value.last ?? 0)
                    return true
                }
                for n in 0..<min(index.count, 50) { _ = try index.entry(at: n) }
            } else if let table = try? snapshot.table(id) {
                let kinds = table.layout.columns.map(\.kind)
                try table.forEachLeaf { leaf throws(EngineError) in
                    for slot in 0..<leaf.count { sum &+= try read(leaf.row(slot), kinds) }
                    return true
                }
                for n in 0..<min(table.count, 50) { _ = try table.key(at: n) }
            }
        }
    }

    private static func read(_ row: RowView, _ kinds: [ColumnKind]) throws(EngineError) -> Int {
        var sum = 0
        for (column, kind) in kinds.enumerated() where !row.isNull(column) {
            switch kind {
            case .bit: sum &+= row.bit(column) ? 1 : 0
            case .bytes: unsafe sum &+= try row.withBytes(column) { unsafe $0.count &+ Int($0.last ?? 0) }
            case .fixed1: sum &+= Int(row.load(column, as: UInt8.self))
            case .fixed2: sum &+= Int(row.load(column, as: UInt16.self))
            case .fixed4: sum &+= Int(row.load(column, as: UInt32.self))
            case .fixed8: sum &+= Int(truncatingIfNeeded: row.load(column, as: UInt64.self))
            case .fixed16: sum &+= Int(truncatingIfNeeded: row.load(column, as: SIMD2<UInt64>.self).x)
            }
        }
        return sum
    }

    private static func write(_ engine: Engine) throws(EngineError) {
        let transaction = try engine.begin()
        if transaction.tree(named: "new") == nil { _ = try transaction.createIndex(named: "new") }
        for name in ["index", "table"] {
            guard let id = transaction.tree(named: name) else { continue }
            if name == "index" {
                for n: UInt8 in 0..<40 {
                    try transaction.put([0x6B, n], [UInt8](repeating: n, count: Int(n)), in: id)
                    _ = try transaction.delete([0x6B, 0x65, 0x79, 0x20, n], from: id)
                }
            } else {
                _ = try transaction.delete((1...40).map { UInt64($0) }, from: id)
            }
        }
        _ = try transaction.commit()
    }
}
