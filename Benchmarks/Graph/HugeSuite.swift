import Foundation
import Hornbeam

/// Rows G3: the costs in a store of a hundred million events, beside the costs in a store of a million.
///
/// Each step has a process of its own, so that the memory of the step is counted and the pool is empty at its start. The pool has its default size.
/// The files stay in the page cache, as far as the machine has memory, except before the measured openings.
struct HugeSuite {
    let options: Options
    let folder: Folder

    enum Figure: String, CaseIterable {
        case insert, uid, key, page, count, save, open, crash, check, memory

        var title: String {
            switch self {
            case .insert: "insert in batches of 2²⁰ rows"
            case .uid: "object by uid"
            case .key: "object by ID"
            case .page: "page of 100 objects at any offset"
            case .count: "count, longitude > 37"
            case .save: "durable save of one object"
            case .open: "open after a clean close, first object by uid, nothing in the page cache"
            case .crash: "open after a crash, likewise"
            case .check: "check"
            case .memory: "peak memory over the pool, all steps"
            }
        }

        var unit: String {
            switch self {
            case .insert, .count, .check: "ns/row"
            case .uid, .key: "ns"
            case .page, .save: "µs"
            case .open, .crash: "ms"
            case .memory: "MiB"
            }
        }

        /// The goal for the figure of the larger store.
        var goal: Goal? {
            switch self {
            case .open: .atMost(1000)
            case .crash: .atMost(3000)
            case .memory: .atMost(256)
            default: nil
            }
        }

        /// The goal for the figure as a multiple of that of the smaller store.
        var goalOfRatio: Goal? {
            switch self {
            case .save: .atMost(1.2)
            default: goal == nil ? .atMost(2) : nil
            }
        }
    }

    private var counts: [Int] { options.isSmoke ? [5_000, options.rows] : [1_000_000, max(options.rows, 10_000_000)] }

    private static func id(_ figure: Figure, _ count: Int) -> String { "G3 \(figure.rawValue)@\(SizeSuite.name(count))" }

    private func rows() -> [Row] {
        Figure.allCases.flatMap { figure in
            counts.map { count in
                Row(id: Self.id(figure, count), title: "\(figure.title), \(SizeSuite.name(count))", unit: figure.unit,
                    goal: count == counts[1] ? figure.goal : nil)
            } + (figure.goalOfRatio.map { [Row(id: "G3 \(figure.rawValue)", title: "… as a multiple", unit: "×", goal: $0)] } ?? [])
        }
    }

    func run(into results: inout Results) throws {
        results.declare(rows())
        touchMemory()
        for count in counts { try measure(count, &results) }
        for figure in Figure.allCases where figure.goalOfRatio != nil {
            guard let small = results.median(Self.id(figure, counts[0]), .hornbeam), let large = results.median(Self.id(figure, counts[1]), .hornbeam)
            else { continue }
            results.add("G3 \(figure.rawValue)", .hornbeam, large / small)
        }
    }

    /// Uses the memory of the page cache once, since a virtual machine gets it from its host at the first use. An import of a million events took 1.3 to
    /// 1.5 times as long in memory that had not been used, so the ratios depended on what ran before.
    private func touchMemory() {
        let bytes = min(counts[1] * 100, Int(clamping: ProcessInfo.processInfo.physicalMemory / 2))
        note("huge: using \(bytes >> 20) MiB of memory once")
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 1 << 12)
        for offset in stride(from: 0, to: bytes, by: 1 << 12) { memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self) }
        memory.deallocate()
    }

    private func measure(_ count: Int, _ results: inout Results) throws {
        let path = try folder.empty("huge")
        var memory = 0.0
        func take(_ step: String) throws {
            note("huge, \(SizeSuite.name(count)): \(step)")
            for (name, value) in try HugeProcess.figures(step, path, count, options) {
                note("  \(name) \(value.short)")
                if let figure = Figure(rawValue: name), figure != .memory { results.add(Self.id(figure, count), .hornbeam, value) }
                if name == Figure.memory.rawValue { memory = max(memory, value) }
            }
        }
        // A million events take less than a second.
        for _ in 0..<(count == counts[0] ? 2 : 0) {
            try take("fill")
            _ = try folder.empty("huge")
        }
        try take("fill")
        note("  \(Folder.bytes(at: path) >> 20) MiB")
        try take("look")
        Folder.dropCache(at: path)
        try take("open")
        note("huge, \(SizeSuite.name(count)): kill")
        try HugeProcess.kill(path, count, options)
        Folder.dropCache(at: path)
        try take("crash")
        try take("check")
        results.add(Self.id(.memory, count), .hornbeam, memory)
        _ = try folder.empty("huge")
    }
}
