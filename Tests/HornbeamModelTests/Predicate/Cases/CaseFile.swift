import Foundation
import HornbeamModel

/// A piece of JSON, with the tagged values of the case files.
enum CaseValue: Decodable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case list([CaseValue])
    case object([String: CaseValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([CaseValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: CaseValue].self))
        }
    }

    subscript(_ key: String) -> CaseValue? {
        guard case .object(let pairs) = self else { return nil }
        return pairs[key]
    }

    var text: String? { if case .string(let value) = self { value } else { nil } }
    var flag: Bool? { if case .bool(let value) = self { value } else { nil } }
    var list: [CaseValue]? { if case .list(let value) = self { value } else { nil } }
    var object: [String: CaseValue]? { if case .object(let value) = self { value } else { nil } }
    var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The tag of a tagged value.
    var tag: String? { self["t"]?.text }

    /// The value; object references are looked up by `reference`.
    func propertyValue(_ reference: (String) -> PropertyValue = { .string($0) }) -> PropertyValue {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .list(let values): .array(values.map { $0.propertyValue(reference) })
        case .object(let pairs):
            tag.map { tagged($0, reference) } ?? .dictionary(pairs.mapValues { $0.propertyValue(reference) })
        }
    }

    private func tagged(_ tag: String, _ reference: (String) -> PropertyValue) -> PropertyValue {
        let content = self["v"] ?? .null
        switch tag {
        case "double": return .double(content.number ?? .nan)
        case "float": return .double(Double(Float(content.number ?? .nan)))
        case "decimal": return .decimal(Decimal(string: content.text ?? "") ?? .nan)
        case "date": return .date(Date(timeIntervalSince1970: content.number ?? .nan))
        case "data": return .data(Data(base64Encoded: content.text ?? "") ?? Data())
        case "uuid": return .uuid(UUID(uuidString: content.text ?? "")!)
        case "array": return .array((content.list ?? []).map { $0.propertyValue(reference) })
        case "set": return .set(Set((content.list ?? []).map { $0.propertyValue(reference) }))
        case "dict": return .dictionary((content.object ?? [:]).mapValues { $0.propertyValue(reference) })
        case "keypath": return .string(content.text ?? "")
        case "ref": return reference(content.text ?? "")
        default: return .null
        }
    }
}

/// The lines of one of the shared case files; empty when the files are absent.
struct CaseFile {
    var name: String
    var cases: [CaseValue]

    /// Next to the package, which contains this file or a link to it.
    static let folder: URL = {
        var root = URL(filePath: #filePath).deletingLastPathComponent()
        while root.path != "/", !FileManager.default.fileExists(atPath: root.appending(path: "Package.swift").path) {
            root = root.deletingLastPathComponent()
        }
        return root.appending(path: "../shared/cases/predicates")
    }()

    static var areAvailable: Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: "evaluate.jsonl").path)
    }

    init(_ name: String) throws {
        self.name = name
        let text = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
        cases = try text.split(separator: "\n").map {
            try JSONDecoder().decode(CaseValue.self, from: Data($0.utf8))
        }
    }

    /// Runs every case and returns the failures; prints a line with the counts.
    ///
    /// - Parameters:
    ///   - place: The implementation under test, for that line.
    ///   - otherwise: The word for a case with another result.
    func run(in place: String = "memory", otherwise: String = "failed", _ body: (CaseValue) throws -> String?) -> [String] {
        var failures: [String] = []
        for entry in cases {
            let id = entry["id"]?.text ?? "?"
            do {
                if let complaint = try body(entry) { failures.append("\(id): \(complaint)") }
            } catch {
                failures.append("\(id): threw \((error as? HornbeamError)?.message ?? "\(error)")")
            }
        }
        print("cases \(name), in \(place): \(cases.count - failures.count) passed, \(failures.count) \(otherwise)")
        return failures
    }
}

extension CaseValue {
    /// The format of the case with its arguments.
    func predicate(_ reference: (String) -> PropertyValue = { .string($0) }) throws -> FetchPredicate {
        try FetchPredicate(
            format: self["format"]?.text ?? "", arguments: (self["args"]?.list ?? []).map { $0.propertyValue(reference) })
    }
}
