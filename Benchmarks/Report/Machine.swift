import Foundation

/// The machine and the software of a run.
struct Machine: Codable {
    let processor: String
    let cores: Int
    let memoryGiB: Int
    let system: String
    let compiler: String
    let commit: String
    let date: String

    init(commit: String) {
        processor = Machine.processorName()
        cores = ProcessInfo.processInfo.processorCount
        memoryGiB = Int((Double(ProcessInfo.processInfo.physicalMemory) / 1_073_741_824).rounded())
        system = ProcessInfo.processInfo.operatingSystemVersionString
        compiler = Machine.compilerName
        self.commit = commit
        date = ISO8601DateFormatter().string(from: Date())
    }

    private static func processorName() -> String {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
    }

    private static var compilerName: String {
        #if compiler(>=6.3)
        "Swift 6.3 or later"
        #else
        "Swift 6.2"
        #endif
    }

    var summary: String { "\(processor), \(cores) cores, \(memoryGiB) GiB; \(system); \(compiler); commit \(commit); \(date)" }
}
