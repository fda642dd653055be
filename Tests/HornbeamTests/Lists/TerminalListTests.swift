import Foundation
import HornbeamLists
import Hornbeam
import Testing

/// A terminal list with the screen to which it writes.
final class TerminalScreen {
    let list: TerminalList
    private final class Screen {
        var rows: [Int: String] = [:]
        var linesWritten = 0

        /// Understands positions (`CSI n;1H`), clearing (`CSI 2J`, `CSI K`) and styles, which it ignores. A line ends with `CSI K`.
        func write(_ text: String) {
            var row = 1
            var isBegun = false
            for part in text.components(separatedBy: "\u{1B}[").dropFirst() {
                let end = part.firstIndex { $0.isLetter } ?? part.startIndex
                let rest = part[part.index(after: end)...]
                if part[end] == "J" { rows = [:] }
                if part[end] == "H" { (row, isBegun) = (Int(part.prefix { $0 != ";" }) ?? 1, false) }
                if part[end] == "K" { linesWritten += 1 }
                guard !rest.isEmpty || part[end] == "K" else { continue }
                rows[row] = (isBegun ? rows[row] ?? "" : "") + rest
                isBegun = true
            }
        }
    }
    private let screen = Screen()

    init(width: Int, height: Int) {
        let screen = screen
        list = TerminalList(width: width, height: height) { screen.write($0) }
    }

    /// The lines on the screen, without empty ones at the end.
    var lines: [String] {
        let last = screen.rows.filter { !$0.value.isEmpty }.keys.max() ?? 0
        return (1 ..< last + 1).map { screen.rows[$0] ?? "" }
    }

    /// The number of lines that were written since the last call.
    func takeLinesWritten() -> Int {
        defer { screen.linesWritten = 0 }
        return screen.linesWritten
    }
}

@Suite struct TerminalListTests {
    private let context: ManagedObjectContext
    private let employees: [Employee]

    init() throws {
        let context = try Company.stack(.inMemory).newContext()
        employees = (0 ..< 6).map { context.employee("e\($0)", salary: $0 / 3) }
        try context.save()
        self.context = context
    }

    private func source(_ screen: TerminalScreen, section: String? = nil) throws -> ListDataSource<Employee, TerminalList> {
        let request = FetchRequest<Employee>().sorted(by: "salary").sorted(by: "name")
        return try ListDataSource(request, in: context, sectionedBy: section, view: screen.list) { $0.text = $1.name }
    }

    @Test("SEED-11: a terminal list writes only the lines that change") func onlyChangedLines() throws {
        let screen = TerminalScreen(width: 20, height: 10)
        let source = try source(screen, section: "salary")
        try source.startVending()
        #expect(screen.lines == ["0", "e0", "e1", "e2", "1", "e3", "e4", "e5"] && screen.takeLinesWritten() == 8)
        employees[4].name = "e4 with a long name that is cut"
        context.processPendingChanges()
        #expect(screen.lines[6] == "e4 with a long name…" && screen.takeLinesWritten() == 1)
        context.delete(employees[5])
        context.processPendingChanges()
        #expect(screen.lines == ["0", "e0", "e1", "e2", "1", "e3", "e4 with a long name…"] && screen.takeLinesWritten() == 1)
        screen.list.header = "staff"
        #expect(screen.lines.first == "staff" && screen.lines.count == 8)
        withExtendedLifetime(source) {}
    }

    @Test func rowsBelowTheLastLineAreNotRead() throws {
        let screen = TerminalScreen(width: 20, height: 3)
        var read: [String] = []
        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: "name"), in: context, view: screen.list) {
            read.append($1.name)
            $0.text = $1.name
        }
        try source.startVending()
        #expect(screen.lines == ["e0", "e1", "e2"] && read == ["e0", "e1", "e2"] && screen.list.lineCount == 6)
        screen.list.firstLine = 4
        #expect(screen.lines == ["e4", "e5"])
        employees[0].name = "e0 changed"
        context.processPendingChanges()
        #expect(screen.lines == ["e4", "e5"])
        withExtendedLifetime(source) {}
    }

    @Test func anyFirstLineAndHeightAreShown() throws {
        let screen = TerminalScreen(width: 20, height: 3)
        let source = try source(screen, section: "salary")
        try source.startVending()
        screen.list.firstLine = .max
        #expect(screen.lines == [])
        screen.list.firstLine = .min
        #expect(screen.lines == ["0", "e0", "e1"])
        screen.list.firstLine = 5
        screen.list.height = .max
        #expect(screen.lines == ["e3", "e4", "e5"])
        screen.list.header = "staff"
        screen.list.height = 0
        #expect(screen.lines == [])
        withExtendedLifetime(source) {}
    }

    @Test("SEED-13: a fetch of the controller without the data source leaves the list complete")
    func fetchesWithoutTheDataSource() throws {
        let screen = TerminalScreen(width: 20, height: 20)
        let source = try source(screen, section: "salary")
        try source.startVending()
        source.stopVending()
        employees[0].salary = 9
        try source.results.performFetch()
        screen.list.redraw()
        #expect(screen.lines.suffix(1) == ["e0"] && screen.lines.count == 8)
        try source.startVending()
        #expect(screen.lines.suffix(2) == ["9", "e0"])
    }

    @Test func controlCharactersOfDataDoNotReachTheTerminal() throws {
        let screen = TerminalScreen(width: 30, height: 3)
        employees[0].name = "\u{1B}[2Jbad\nname"
        var written = ""
        let list = TerminalList(width: 30, height: 3) { written += $0 }
        let source = try ListDataSource(FetchRequest<Employee>().sorted(by: "name").limit(1), in: context, view: list) { $0.text = $1.name }
        try source.startVending()
        #expect(written.contains("[2Jbad name") && !written.contains("\u{1B}[2J") && !written.contains("\n"))
        _ = screen
    }
}
