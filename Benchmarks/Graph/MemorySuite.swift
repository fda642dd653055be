import Foundation

/// Row 14: the memory of Hornbeam alone. Each figure is measured in a process of its own, so that no other memory is counted.
struct MemorySuite {
    let options: Options
    let folder: Folder

    static let rows = [
        Row(id: "14f", title: "peak memory while fetching all as faults", unit: "B/fault", goal: .atMost(120)),
        Row(id: "14i", title: "peak memory over the pool, import in saves of 10,000", unit: "MiB", goal: .atMost(64)),
    ]

    private static let importPool = 64 << 20

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        note("memory")
        results.add("14f", .hornbeam, try ask("faults"))
        results.add("14i", .hornbeam, try ask("import"))
    }

    /// Runs this program again for one figure.
    func ask(_ step: String) throws -> Double {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = ["--memory", step, "--rows", "\(options.rows)", "--folder", options.folder]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let figure = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchmarkError("The measurement of memory (\(step)) failed: \(output)")
        }
        return figure
    }

    /// The work of the other process: prints the figure.
    func measure(_ step: String) throws {
        let path = try folder.empty("memory")
        switch step {
        case "faults":
            let events = Array(EventGenerator(count: options.rows))
            let writer = try GraphEvents(path: path)
            try writer.load(events)
            try writer.close()
            print(try faults(path))
        case "import":
            let before = ProcessMemory.current
            let store = try GraphEvents(path: path, poolBytes: Self.importPool)
            try store.loadObjects(EventGenerator(count: options.rows))
            print(Double(ProcessMemory.peak - before - Self.importPool) / Double(1 << 20))
            try store.close()
        case "rows": try ImportSuite.measureMemory(options, folder)
        case "migrate": try MigrationSuite.measureMemory(options, path)
        default: throw BenchmarkError("There is no measurement of memory called \(step).")
        }
    }

    private func faults(_ path: String) throws -> Double {
        let store = try GraphEvents(path: path)
        // The pool is filled first, so that its memory is not counted.
        _ = try store.countEast()
        _ = try store.firstByLongitude()
        ProcessMemory.trimHeap()
        ProcessMemory.forgetPeak()
        let before = ProcessMemory.current
        let faults = try store.fetchFaults()
        let perFault = Double(ProcessMemory.peak - before) / Double(faults.count)
        try store.close()
        return perFault
    }
}

/// The kernel's figure for this process, in bytes.
enum ProcessMemory {
    static var current: Int { bytes("VmRSS") }
    static var peak: Int { bytes("VmHWM") }

    /// Returns the free memory of the heap to the system. Otherwise faults that reuse this memory would not be counted.
    static func trimHeap() {
        guard let trim = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
    }

    /// Resets the peak to the current use.
    static func forgetPeak() { try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs")) }

    private static func bytes(_ name: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name + ":") }) else { return 0 }
        return line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first.map { $0 * 1024 } ?? 0
    }
}
