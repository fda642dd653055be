import Foundation

/// Reads packages from one file of control paragraphs; reports and skips malformed ones.
final class PackageReader {
    private let paragraphs: ParagraphReader
    private let report: (CatalogueProblem) -> Void

    /// - Parameter report: Called for each malformed paragraph, which is skipped.
    init(_ source: any ByteSource, report: @escaping (CatalogueProblem) -> Void) {
        paragraphs = ParagraphReader(source)
        self.report = report
    }

    var fractionRead: Double { paragraphs.fractionRead }

    /// Bytes of text read so far.
    var bytesRead: Int { paragraphs.bytesRead }

    /// The next package; nil at the end of the file.
    ///
    /// Skips packages that dpkg's status file lists as not installed. Throws `CatalogueError` when the
    /// file cannot be read.
    func next() throws -> PackageRecord? {
        while true {
            do {
                let outcome = unsafe try paragraphs.next { line, bytes in
                    unsafe try ControlParagraph(bytes, line: line).package()
                }
                guard let outcome else { return nil }
                if let record = outcome { return record }
            } catch let problem as CatalogueProblem {
                report(problem)
            }
        }
    }
}
