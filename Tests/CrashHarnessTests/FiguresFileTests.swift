import Foundation
import Testing

@testable import CrashHarness

/// The sums over all runs.
@Suite struct FiguresFileTests {
    static func sums(_ images: Int, commit: String) -> FiguresFile.ModeSums {
        FiguresFile.ModeSums(
            runs: 1, rounds: 2, findings: 0, seconds: 90, figures: ["crash images": images, "nested images": 7],
            lists: ["sync sites": ["meta", commit]], commits: [commit])
    }

    @Test func runsThatAddAtOnceLoseNothing() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("figures-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("figures.json").path
        DispatchQueue.concurrentPerform(iterations: 12) { index in
            try! FiguresFile(path).add(Self.sums(10, commit: "c\(index % 3)"), to: "simulate")
        }
        let read = try #require(try FiguresFile(path).read().modes["simulate"])
        #expect(read.runs == 12)
        #expect(read.figures == ["crash images": 120, "nested images": 84])
        #expect(read.commits.sorted() == ["c0", "c1", "c2"])
    }

    @Test func theTableIsMarkdown() {
        var content = FiguresFile.Content()
        content.modes["simulate"] = Self.sums(1_234_567, commit: "c")
        #expect(
            FiguresTable(content).text == """
                | mode | runs | seeds | time | tried | findings |
                |---|---|---|---|---|---|
                | `simulate` | 1 | 2 | 90 s | 1,234,567 crash images, 7 nested images, 2 sync sites | 0 |

                Run from commit c.
                """)
    }

    /// `crash-harness figures` writes the table of totals into the document.
    @Test func theDocumentShowsTheSumsOfTheFile() throws {
        let documents = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Docs").path
        let table = FiguresTable(try FiguresFile(documents + "/Testing/figures.json").read())
        #expect(try FiguresDocument(path: documents + "/Testing.md").shown() == table.text)
    }
}

@Suite struct HarnessOptionTests {
    @Test func optionsAreRead() throws {
        let options = try HarnessOptions(["simulate", "--seconds", "1.5", "--count", "7", "--seed", "9", "--depth", "2"])
        #expect(options.command == "simulate" && options.seconds == 1.5 && options.count == 7 && options.seed == 9)
        #expect(options.extras == ["depth": "2"])
    }

    @Test(arguments: [
        (["--seed"], "a mode comes before the options"), (["flip", "--seed"], "--seed needs a value"),
        (["flip", "--seed", "x"], "--seed cannot be 'x'"), (["flip", "--count", "0"], "--count cannot be '0'"),
        (["flip", "now"], "'now' is one word too many"),
    ])
    func wrongUsageIsNamed(_ words: [String], _ message: String) {
        #expect(throws: UsageError(message)) { _ = try HarnessOptions(words) }
    }

    @Test func anUnknownModeOrOptionIsRefused() {
        #expect(CrashHarness.run(["nonsense"]) == 2)
        #expect(CrashHarness.run(["simulate", "--nonsense", "1"]) == 2)
    }
}
