public import Foundation
internal import HornbeamModel

/// The rows of an import, read one at a time.
public struct ImportSource<Row> {
    /// The next row, or the error of reading it; nil at the end.
    let next: () throws -> Result<Row, HornbeamError>?
    /// The position of the row that was read last, if it is not its number.
    var number: (() -> Int)?
    /// The units of progress: rows or bytes.
    var total: Int64?
    var completed: (() -> Int64)?

    /// The elements of a sequence, which is iterated once.
    public init(_ rows: some Sequence<Row>) {
        var rest = rows.makeIterator()
        next = { rest.next().map(Result.success) }
        let count = rows.underestimatedCount
        total = count > 0 ? Int64(count) : nil
    }

    fileprivate init(_ slices: JSONSlices, _ read: @escaping (ArraySlice<UInt8>) throws -> Row) {
        next = {
            guard let slice = try slices.next() else { return nil }
            do {
                return .success(try read(slice))
            } catch {
                return .failure(
                    error as? HornbeamError ?? HornbeamError(.typeMismatch, "The row cannot be decoded.", cause: "\(error)", underlyingError: error))
            }
        }
        number = { slices.number }
        total = slices.size
        completed = { slices.position }
    }
}

extension ImportSource where Row == ImportRow {
    /// Dictionaries of Foundation, such as those of `JSONSerialization`.
    public static func dictionaries(_ rows: [[String: Any]]) -> ImportSource {
        var rest = rows.makeIterator()
        var source = ImportSource {
            guard let row = rest.next() else { return nil }
            do {
                return .success(try row.mapValues { try PropertyValue(foundation: $0) })
            } catch {
                return .failure(error as? HornbeamError ?? HornbeamError(.typeMismatch, "\(error)"))
            }
        }
        source.total = Int64(rows.count)
        return source
    }

    private init(_ next: @escaping () -> Result<Row, HornbeamError>?) { self.next = next }

    /// The objects of a JSON file: those of its list, or of the list at a path of names, such as `["data", "books"]`. Memory holds one row.
    ///
    /// - Throws: `inputOutput` when the file cannot be read. Reading throws `typeMismatch` where the file is no JSON, also if bad rows are skipped.
    public static func json(_ url: URL, at path: [String] = []) throws -> ImportSource {
        ImportSource(try JSONSlices(url, .elements(path)), JSONParser.row)
    }

    /// The objects of a file with one JSON object in each line. Empty lines are no rows. A line that is no JSON is a bad row.
    ///
    /// - Throws: `inputOutput` when the file cannot be read.
    public static func jsonLines(_ url: URL) throws -> ImportSource {
        ImportSource(try JSONSlices(url, .lines), JSONParser.row)
    }
}

extension ImportSource where Row: Decodable {
    /// The rows of a JSON file, each decoded as a type of the app.
    ///
    /// - Throws: The errors of `json(_:at:)`.
    public static func json(
        _ url: URL, of type: Row.Type, at path: [String] = [], decoder: JSONDecoder = JSONDecoder()
    ) throws -> ImportSource {
        ImportSource(try JSONSlices(url, .elements(path))) { try decoder.decode(type, from: Data($0)) }
    }

    /// The rows of a file with one JSON object in each line, each decoded as a type of the app.
    ///
    /// - Throws: The errors of `jsonLines(_:)`.
    public static func jsonLines(_ url: URL, of type: Row.Type, decoder: JSONDecoder = JSONDecoder()) throws -> ImportSource {
        ImportSource(try JSONSlices(url, .lines)) { try decoder.decode(type, from: Data($0)) }
    }
}
