import HornbeamLists
import Testing

@testable import HornbeamTool

@Suite struct OutputTests {
    @Test func tablesAreAligned() {
        var table = TextTable([.text("section", widthMax: 8), .number("packages")])
        table.append(["libs", "1,234"])
        table.append(["javascript\n", "7"])
        table.append(["日本", "12"])
        #expect(table.description == """
              section   packages
              ────────  ────────
              libs         1,234
              javascr…         7
              日本            12
            """)
    }

    @Test(arguments: [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("😀", 2), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("✅", 2), ("⌚", 2), ("❤️", 2), ("❤", 1), ("a\u{200B}b", 2), ("©", 1),
    ])
    func columnsOfATerminal(text: String, width: Int) { #expect(text.displayWidth == width) }

    @Test func anEmptyTableShowsItsTitles() {
        #expect(TextTable([.text("a"), .number("bb")]).description == "  a  bb\n  ─  ──")
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (63440, "63,440"), (-1_234_567, "-1,234,567"),
    ])
    func countsHaveSeparators(value: Int, text: String) { #expect(Figures.count(value) == text) }

    @Test(arguments: [
        (999, "999 B"), (1000, "1.0 kB"), (50_060_337, "50.1 MB"), (999_960, "1.0 MB"), (1_500_000_000_000, "1.5 TB"),
    ])
    func bytesHaveUnits(value: Int, text: String) { #expect(Figures.bytes(value) == text) }

    @Test(arguments: [
        (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (12_345, "12.3 µs"), (123_456, "123 µs"), (999_600, "1.00 ms"),
        (1_234_000_000, "1.23 s"), (61_000_000_000, "61.0 s"),
    ])
    func durationsHaveThreeDigits(nanoseconds: Int, text: String) {
        #expect(Figures.duration(.nanoseconds(nanoseconds)) == text)
    }

    @Test func plurals() {
        #expect(Figures.count(1, "save") == "1 save")
        #expect(Figures.count(2000, "save") == "2,000 saves")
        #expect(Figures.count(0, "entry", "entries") == "0 entries")
    }

    @Test func progressIsOnePlainLineWhereThereIsNoTerminal() {
        var output = ""
        withoutActuallyEscaping({ output += $0 } as (String) -> Void) { write in
            var progress = ProgressLine("importing", isDrawn: false, write: write)
            progress.update(0.5, "half")
            progress.finish("2 packages")
        }
        #expect(output == "importing: 2 packages\n")
    }

    @Test func progressIsABarOnATerminal() {
        var output = ""
        withoutActuallyEscaping({ output += $0 } as (String) -> Void) { write in
            var progress = ProgressLine("importing", isDrawn: true, write: write)
            progress.update(0.5, "1 package")
            progress.update(0.6, "drawn too soon")
            progress.finish("done")
        }
        let bar = "[███████████████···············]  50 %"
        #expect(output == "\r\(bar) importing: 1 package\u{1B}[K\r\u{1B}[Kimporting: done\n")
    }
}
