import HornbeamEngine
import HornbeamSimulation

/// Damages a small store and reads it. The result must be the correct content, an older complete state, or an error that names the damage.
///
/// Every fourth seed damages a store that was migrated. With `--only migrations`, all seeds do so.
enum FlipMode: Mode {
    static let name = "flip"
    static let summary = "every bit of a small store flipped, sectors and files damaged and mixed up"
    static let unit = "damaged stores"
    static let extras = ["only"]

    static func round(_ seed: UInt64, _ run: Run) throws {
        let isMigrated = try run.isForMigrations || seed % 4 == 3
        let store: any DamagedStore = if isMigrated { try MigratedSmallStore(seed: seed) } else { try SmallStore(seed: seed) }
        if let store = store as? MigratedSmallStore { run.add(store.hasStage ? "stores migrated by code damaged" : "migrated stores damaged") }
        for damage in StructuralDamage.all(of: store.sources) {
            try trial(damage.name, store, run) { damage.apply(to: $0, store.sources) }
        }
        run.add("stores with every sector damaged")
        let bits = BitOrder(store.sources.files, seed: seed)
        for place in bits {
            try trial("bit \(place)", store, run) { disk in
                disk.damage(place.path) { $0[place.offset] ^= 1 << place.bit }
            }
            run.add("flipped bits")
        }
        run.add("stores with every bit flipped")
    }

    private static func trial(
        _ name: @autoclosure () -> String, _ store: any DamagedStore, _ run: Run, _ damage: (SimulatedDisk) -> Void
    ) throws {
        guard run.includes(name()) else { return }
        try run.beginCase(name())
        let disk = store.disk.copy()
        damage(disk)
        let outcome = try store.judge(disk)
        run.add(outcome.figure)
        if store is MigratedSmallStore { run.add("damaged stores that were migrated") }
        if run.options.replay != nil { Terminal.printLine("\(outcome.figure)") }
    }
}

/// Every bit of some files once. The order covers all regions early, so that a short run covers them too.
struct BitOrder: Sequence {
    struct Place: CustomStringConvertible {
        let path: String
        let offset: Int
        let bit: Int
        var description: String { "\(path) \(offset).\(bit)" }
    }

    private let files: [(path: String, start: Int)]
    private let count: Int
    private let stride: Int
    private let start: Int

    init(_ files: [String: [UInt8]], seed: UInt64) {
        var bytes = 0
        var starts: [(path: String, start: Int)] = []
        for (path, content) in files.sorted(by: { $0.key < $1.key }) {
            starts.append((path, bytes))
            bytes += content.count
        }
        self.files = starts
        count = bytes * 8
        stride = Self.coprime(near: Int(Double(count) * 0.618), to: count)
        start = count == 0 ? 0 : Int(seed % UInt64(count))
    }

    private static func coprime(near wanted: Int, to count: Int) -> Int {
        func divisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : divisor(b, a % b) }
        var candidate = Swift.max(wanted, 1)
        while divisor(candidate, count) > 1 { candidate += 1 }
        return candidate
    }

    func makeIterator() -> AnyIterator<Place> {
        var index = 0
        return AnyIterator {
            guard index < count else { return nil }
            defer { index += 1 }
            let position = (start + index * stride) % count
            let file = files.last { $0.start <= position / 8 }!
            return Place(path: file.path, offset: position / 8 - file.start, bit: position % 8)
        }
    }
}
