import Foundation

/// Runs one step again and again for a profiler to look at.
struct Profile {
    private let options: Options
    private let folder: Folder
    private let seconds = 8.0

    init(_ options: Options, _ folder: Folder) {
        self.options = options
        self.folder = folder
    }

    func run(_ step: String) throws {
        let data = KeyValueData(count: options.rows)
        let path = folder.path + "/store"
        if step.hasPrefix("insert") { return try insert(data, isSorted: step == "insert") }
        let store = try EngineKeyValue(path: path)
        try store.load(data, data.sorted, isSorted: true)
        let lookups = data.sample(min(options.rows, 500_000), seed: 2)
        _ = try store.scan()
        let start = now()
        switch step {
        case "get": try again("get", lookups.count, 1e9) { _ = try store.get(data, lookups[...]) }
        case "scan": try again("scan", data.count, 1e9) { _ = try store.scan() }
        case "commit":
            var i = 0
            try again("commit", 1000, 1e6) {
                for _ in 0..<1000 {
                    i += 1
                    let key = [UInt8](repeating: 0xEE, count: 8) + withUnsafeBytes(of: UInt64(i).bigEndian) { Array($0) }
                    try key.withUnsafeBytes { try store.commit($0, data.value(i % data.count)) }
                }
            }
        default: throw BenchmarkError("There is no step \(step) to profile: get, scan, insert, insert-random, commit.")
        }
        note("profiled for \((now() - start).short) s")
        try store.close()
    }

    private func insert(_ data: KeyValueData, isSorted: Bool) throws {
        try again("insert", data.count, 1e9) {
            let store = try EngineKeyValue(path: try folder.empty("store"))
            try store.load(data, isSorted ? data.sorted : Array(0..<data.count), isSorted: isSorted)
            try store.close()
        }
    }

    private func again(_ name: String, _ count: Int, _ scale: Double, _ body: () throws -> Void) throws {
        let end = now() + seconds
        while now() < end {
            let taken = try timed(body).seconds
            note("\(name): \((taken * scale / Double(count)).short) each")
        }
    }
}
