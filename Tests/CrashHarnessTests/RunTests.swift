import Foundation
import Testing

@testable import CrashHarness

/// How runs count, report findings, and print the command for a replay.
@Suite struct RunTests {
    /// Has a finding in the third case of seed 5.
    private enum PlantedMode: Mode {
        static let name = "planted"
        static let summary = "finds what was planted"
        static let unit = "cases"

        static func round(_ seed: UInt64, _ run: Run) throws {
            for name in ["a", "b", "c"] where run.includes(name) {
                try run.beginCase(name)
                if seed == 5, name == "c" { throw Finding("planted") }
            }
        }
    }

    private static func run(_ words: [String], figures: String? = nil) throws -> Int32 {
        try Run(PlantedMode.self, try HarnessOptions(["planted"] + words + (figures.map { ["--figures", $0] } ?? []))).perform()
    }

    @Test func aFindingEndsTheRunAndIsCounted() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("figures-\(UInt64.random(in: 0 ... .max)).json").path
        defer { for end in ["", ".lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
        #expect(try Self.run(["--seed", "4", "--count", "100"], figures: path) == 1)
        #expect(try Self.run(["--seed", "7", "--count", "4"], figures: path) == 0)
        let sums = try #require(try FiguresFile(path).read().modes["planted"])
        #expect(sums.figures == ["cases": 10] && sums.findings == 1 && sums.runs == 2)
    }

    @Test func aReplayTriesTheOneCase() throws {
        #expect(try Self.run(["--seed", "5", "--replay", "b"]) == 0)
        #expect(try Self.run(["--seed", "5", "--replay", "c"]) == 1)
        #expect(throws: UsageError("seed 5 has no case 'd'")) { _ = try Self.run(["--seed", "5", "--replay", "d"]) }
    }

    @Test func aReplayIsOneCommand() throws {
        let options = try HarnessOptions(["kill", "--folder", "x", "--seed", "1", "--count", "9"])
        #expect(options.replayCommand(7, "3:none > 2:all") == "crash-harness kill --seed 7 --folder x --replay '3:none > 2:all'")
    }

    @Test("A trap and a hang are findings; an exit status is passed on", arguments: [
        ("exit 0", Int32(0)), ("exit 2", 2), ("kill -SEGV $$", 1), ("exec sleep 60", 1),
    ])
    func theSupervisorSees(command: String, status: Int32) throws {
        let options = try HarnessOptions(["simulate"])
        let supervisor = Supervisor(options, program: URL(fileURLWithPath: "/bin/sh"), words: ["-c", command], caseSecondsMax: 5)
        #expect(try supervisor.run() == status)
    }
}
