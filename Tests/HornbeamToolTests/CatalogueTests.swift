import Testing

@testable import HornbeamTool

/// Reads all packages of a text, with the reported problems.
private func read(_ text: String, chunk: Int = .max) throws -> (packages: [PackageRecord], problems: [String]) {
    var problems: [String] = []
    let reader = PackageReader(MemorySource(text, chunk: chunk)) { problems.append($0.description) }
    var packages: [PackageRecord] = []
    while let package = try reader.next() { packages.append(package) }
    return (packages, problems)
}

private let twoPackages = """
    Package: 0ad
    Version: 0.0.26-3
    Installed-Size: 28591
    Maintainer: Debian Games Team <games@example.org>
    Architecture: amd64
    Depends: 0ad-data (>= 0.0.26), libc6:any (>= 2.34) | musl
    Pre-Depends: dpkg (>= 1.15.6~)
    Description: Real-time strategy game
     A longer text.
     .
     With a second paragraph.
    Homepage: https://example.org/
    Tag: game::strategy, interface::graphical,
     uitoolkit::sdl
    Section: games
    Priority: optional
    Size: 7891488
    SHA256: 3a2118df

    # A comment between packages.
    package: adduser
    VERSION: 3.134
    Architecture: all
    Essential: yes

    """

@Suite struct CatalogueTests {
    @Test func everyFieldArrives() throws {
        let (packages, problems) = try read(twoPackages)
        #expect(problems == [])
        #expect(packages.count == 2)
        let game = packages[0]
        #expect(game.name == "0ad" && game.version == "0.0.26-3" && game.architecture == "amd64")
        #expect(game.installedSize == 28591 * 1024 && game.downloadSize == 7_891_488)
        #expect(game.maintainer == MaintainerName(name: "Debian Games Team", address: "games@example.org"))
        #expect(game.summary == "Real-time strategy game")
        #expect(game.homepage == "https://example.org/" && game.section == "games" && game.priority == "optional")
        #expect(game.tags == ["game::strategy", "interface::graphical", "uitoolkit::sdl"])
        #expect(game.dependencies.map(\.kind) == [.depends, .preDepends])
        #expect(game.dependencies[0].clauses.map { $0.alternatives.map(\.name) } == [["0ad-data"], ["libc6", "musl"]])
        #expect(packages[1].name == "adduser" && packages[1].isEssential && packages[1].section == nil)
    }

    @Test(arguments: 1...40)
    func theSizeOfAReadDoesNotMatter(chunk: Int) throws {
        #expect(try read(twoPackages, chunk: chunk).packages == read(twoPackages).packages)
    }

    @Test func lineBreaksOfOtherSystemsAndMissingOnesAreUnderstood() throws {
        let text = "Package: a\r\nVersion: 1\r\nArchitecture: all\r\n \t\r\n\r\n\nPackage: b\nVersion: 2\nArchitecture: all"
        #expect(try read(text).packages.map { "\($0.name) \($0.version) \($0.architecture)" } == ["a 1 all", "b 2 all"])
        #expect(try read("").packages == [])
        #expect(try read("\n\n\n").packages == [])
    }

    @Test func packagesThatAreNotInstalledArePassedOver() throws {
        let text = """
            Package: gone
            Status: deinstall ok config-files
            Version: 1
            Architecture: all

            Package: here
            Status: install ok installed
            Version: 1
            Architecture: all

            Package: never
            Status: purge ok not-installed
            """
        let (packages, problems) = try read(text)
        #expect(packages.map(\.name) == ["here"])
        #expect(problems == [])
    }

    @Test func malformedParagraphsAreReportedByLineAndSkipped() throws {
        let text = """
            Package: good
            Version: 1
            Architecture: all

            Package: nameless-line
            Version: 1
            this line has no name
            Architecture: all

             continuation of nothing

            Package: twice
            Package: twice
            Version: 1

            Version: 1
            Architecture: all

            Package: no-version
            Architecture: all

            Package: open-bracket
            Version: 1
            Architecture: all
            Depends: a,
             b (>= 1,
             c

            Package: bad-size
            Version: 1
            Architecture: all
            Size: many

            Package: also-good
            Version: 1
            Architecture: all
            """
        let (packages, problems) = try read(text)
        #expect(packages.map(\.name) == ["good", "also-good"])
        #expect(problems == [
            ":7: the line has no field name; the paragraph is skipped",
            ":10: the line has no field name; the paragraph is skipped",
            ":13: the field Package occurs twice; the paragraph is skipped",
            ":16: the paragraph has no field Package; the paragraph is skipped",
            ":19: the paragraph has no field Version; the paragraph is skipped",
            ":26: the field Depends is malformed: the version constraint is not closed with ')'; the paragraph is skipped",
            ":32: the field Size is not a size; the paragraph is skipped",
        ])
    }

    @Test func textThatIsNotUTF8IsAMalformedParagraph() throws {
        var bytes = Array("Package: a\nVersion: 1\nArchitecture: all\nMaintainer: M".utf8)
        bytes += [0xFC, 0x0A]
        var problems: [String] = []
        let reader = PackageReader(MemorySource(bytes: bytes)) { problems.append($0.description) }
        #expect(try reader.next() == nil)
        #expect(problems == [":4: the field Maintainer is not UTF-8 text; the paragraph is skipped"])
    }

    @Test func aParagraphWithoutEndIsRefusedInBoundedMemory() throws {
        let text = "Package: big\n" + String(repeating: "X: y\n", count: 1000) + "\nPackage: next\n"
        let reader = ParagraphReader(MemorySource(text, chunk: 64), bufferSize: 32, sizeMax: 200)
        #expect(throws: CatalogueProblem(line: 1, reason: "the paragraph is longer than 200 bytes")) {
            try reader.next { _, _ in }
        }
        #expect(try reader.next { line, bytes in "\(line) \(String(decoding: bytes, as: UTF8.self))" } == "1003 Package: next\n")
        #expect(try reader.next { _, _ in } == nil)
    }

    @Test func aLineWithoutEndIsRefusedInBoundedMemory() throws {
        let source = MemorySource("Package: " + String(repeating: "y", count: 10_000) + "\n\nPackage: next\n")
        let reader = ParagraphReader(source, bufferSize: 32, sizeMax: 200)
        #expect(throws: CatalogueProblem(line: 1, reason: "the paragraph is longer than 200 bytes")) {
            try reader.next { _, _ in }
        }
        #expect(try reader.next { line, bytes in "\(line) \(String(decoding: bytes, as: UTF8.self))" } == "3 Package: next\n")
        #expect(source.largestBuffer <= 1024)
    }

    @Test(arguments: [
        ("Jane Doe <jane@example.org>", "Jane Doe", "jane@example.org"),
        ("\"Doe, Jane\" <jane@example.org>", "Doe, Jane", "jane@example.org"),
        ("<jane@example.org>", "jane@example.org", "jane@example.org"),
        ("Jane Doe", "Jane Doe", nil),
        ("Jane <>", "Jane", nil),
    ] as [(String, String, String?)])
    func maintainersAreNameAndAddress(text: String, name: String, address: String?) {
        #expect(MaintainerName(parsing: text) == MaintainerName(name: name, address: address))
    }
}

@Suite struct CatalogueFileTests {
    private let folder = TemporaryFolder()

    @Test func aptsListsComeBeforeTheStatusFile() throws {
        for name in ["b_Packages", "a_Packages.lz4", "a_InRelease", "c_Packages.gz"] { try folder.write("", to: "lists/\(name)") }
        let status = try folder.write("", to: "status")
        let lists = folder.path("lists")
        let found = try Catalogue.find(aptLists: lists, dpkgStatus: status).lists.map(\.path)
        #expect(found == ["\(lists)/a_Packages.lz4", "\(lists)/b_Packages"])
        #expect(try Catalogue.find(aptLists: folder.path("none"), dpkgStatus: status).lists.map(\.path) == [status])
        #expect(try Catalogue.find(files: ["x"], aptLists: lists, dpkgStatus: status).lists.map(\.path) == ["x"])
    }

    @Test func withoutACatalogueTheErrorNamesTheRemedy() {
        #expect(throws: CatalogueError(
            "This machine has no package catalogue: no list in /nowhere/lists and no /nowhere/status; "
                + "run 'apt-get update', or name a file with --file.")
        ) { try Catalogue.find(aptLists: "/nowhere/lists", dpkgStatus: "/nowhere/status") }
    }

    @Test func aMissingFileIsNamed() {
        let reader = Catalogue(lists: [.init(path: "/nowhere/Packages")]).reader()
        #expect(throws: CatalogueError("'/nowhere/Packages' cannot be read: No such file or directory.")) { try reader.next() }
    }

    @Test func problemsNameTheirFileAndAreCountedBeyondTheFirst() throws {
        let path = try folder.write(String(repeating: "nonsense\n\n", count: 25) + twoPackages, to: "Packages")
        let reader = Catalogue(lists: [.init(path: path)]).reader()
        #expect(try reader.next(10).map(\.name) == ["0ad", "adduser"])
        #expect(reader.problemCount == 25)
        #expect(reader.problems.count == CatalogueReader.problemsMax)
        #expect(reader.problems[1].description == "\(path):3: the line has no field name; the paragraph is skipped")
        #expect(reader.fractionRead == 1)
        #expect(reader.bytesRead == 250 + twoPackages.utf8.count)
    }
}
