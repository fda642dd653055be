import Foundation

/// The files that list the packages available on a machine.
struct Catalogue: Sendable {
    /// One file of control paragraphs.
    struct List: Sendable, Hashable {
        let path: String
        var isCompressed: Bool { path.hasSuffix(".lz4") }

        func open() throws -> any ByteSource {
            let file = try FileSource(path)
            return isCompressed ? try LZ4FrameSource(file, path: path) : file
        }
    }

    let lists: [List]

    init(lists: [List]) { self.lists = lists }

    /// The files named by the user, else apt's lists on this machine, else dpkg's status file.
    static func find(
        files: [String] = [], aptLists: String = "/var/lib/apt/lists", dpkgStatus: String = "/var/lib/dpkg/status"
    ) throws -> Catalogue {
        if !files.isEmpty { return Catalogue(lists: files.map(List.init)) }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: aptLists)) ?? []).sorted()
        let lists = names
            .filter { $0.hasSuffix("_Packages") || $0.hasSuffix("_Packages.lz4") }
            .map { List(path: "\(aptLists)/\($0)") }
        if !lists.isEmpty { return Catalogue(lists: lists) }
        if FileManager.default.isReadableFile(atPath: dpkgStatus) { return Catalogue(lists: [List(path: dpkgStatus)]) }
        throw CatalogueError(
            "This machine has no package catalogue: no list in \(aptLists) and no \(dpkgStatus); "
                + "run 'apt-get update', or name a file with --file.")
    }

    /// Opens the catalogue for reading, in the order of the lists.
    func reader() -> CatalogueReader { CatalogueReader(lists: lists) }
}

/// Reads the packages of several lists, one after another.
final class CatalogueReader {
    /// The maximum number of problems that are stored; others are only counted.
    static let problemsMax = 20

    private let lists: [Catalogue.List]
    private var current: PackageReader?
    private var nextIndex = 0
    /// Bytes of text in the lists that were read completely.
    private var finishedBytes = 0
    private(set) var problems: [CatalogueProblem] = []
    private(set) var problemCount = 0

    init(lists: [Catalogue.List]) { self.lists = lists }

    /// The next package; nil at the end of the last list.
    func next() throws -> PackageRecord? {
        while true {
            if let current {
                if let record = try current.next() { return record }
                finish(current)
            }
            guard nextIndex < lists.count else { return nil }
            let list = lists[nextIndex]
            nextIndex += 1
            current = PackageReader(try list.open()) { [unowned self, path = list.path] problem in
                note(problem, in: path)
            }
        }
    }

    /// The next packages, at most `count`.
    func next(_ count: Int) throws -> [PackageRecord] {
        var records: [PackageRecord] = []
        records.reserveCapacity(count)
        while records.count < count, let record = try next() { records.append(record) }
        return records
    }

    /// The fraction of all lists read so far, 0 … 1; every list has equal weight.
    var fractionRead: Double {
        guard !lists.isEmpty else { return 1 }
        guard let current else { return Double(nextIndex) / Double(lists.count) }
        return (Double(nextIndex - 1) + current.fractionRead) / Double(lists.count)
    }

    /// Bytes of text read so far, after decompression.
    var bytesRead: Int { finishedBytes + (current?.bytesRead ?? 0) }

    private func finish(_ reader: PackageReader) {
        finishedBytes += reader.bytesRead
        current = nil
    }

    private func note(_ problem: CatalogueProblem, in path: String) {
        problemCount += 1
        guard problems.count < Self.problemsMax else { return }
        var problem = problem
        problem.source = path
        problems.append(problem)
    }
}
