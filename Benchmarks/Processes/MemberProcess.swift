import Foundation

/// A child process, which receives commands of its parent as lines.
final class MemberProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest = Data()

    init(_ work: String, _ who: Contestant, _ path: String, _ number: Int, _ amount: Double) throws {
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = ["--member", work, "--limited", who.rawValue, "--store", path, "--group", "\(number)", "--amount", "\(amount)"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    @discardableResult
    func waitForLine() throws -> String {
        while true {
            if let end = rest.firstIndex(of: 10) {
                defer { rest = Data(rest[(end + 1)...]) }
                return String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw BenchmarkError("A process ended before its work was done.") }
            rest.append(data)
        }
    }

    func go() { input.fileHandleForWriting.write(Data("go\n".utf8)) }

    func end() throws {
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkError("A process ended with status \(process.terminationStatus).") }
    }

    /// Starts the work of processes at the same time. Returns for each the number of saves, and the median and the maximum of their seconds.
    static func figures(of members: [MemberProcess]) throws -> [[Double]] {
        for member in members { try member.waitForLine() }
        for member in members { member.go() }
        let figures = try members.map { try $0.waitForLine().split(separator: " ").compactMap { Double($0) } }
        for member in members { try member.end() }
        guard figures.allSatisfy({ $0.count == 3 }) else { throw BenchmarkError("A process that saves failed.") }
        return figures
    }
}
