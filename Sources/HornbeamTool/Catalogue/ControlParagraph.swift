import Foundation

/// The fields of one paragraph, as places in bytes that somebody else owns.
struct ControlParagraph {
    private struct Field {
        let value: UnsafeRawBufferPointer
        let line: Int
    }

    /// The fields that a package record is made of; all others are passed over.
    private enum Name: String, CaseIterable {
        case package = "Package"
        case version = "Version"
        case architecture = "Architecture"
        case section = "Section"
        case priority = "Priority"
        case maintainer = "Maintainer"
        case description = "Description"
        case homepage = "Homepage"
        case installedSize = "Installed-Size"
        case size = "Size"
        case essential = "Essential"
        case status = "Status"
        case tag = "Tag"
        case depends = "Depends"
        case preDepends = "Pre-Depends"
        case recommends = "Recommends"
        case suggests = "Suggests"
        case enhances = "Enhances"
    }

    /// Known names by length, so that a field is compared with two or three of them at most.
    private static let namesByLength: [[(bytes: [UInt8], name: Name)]] = {
        var table = [[(bytes: [UInt8], name: Name)]](repeating: [], count: 16)
        for name in Name.allCases { table[name.rawValue.utf8.count].append((Array(name.rawValue.utf8), name)) }
        return table
    }()

    private let line: Int
    private var fields: [Name: Field] = [:]

    /// - Parameters:
    ///   - bytes: the paragraph without the blank line behind it; must outlive this value.
    ///   - line: the number of its first line.
    init(_ bytes: UnsafeRawBufferPointer, line: Int) throws(CatalogueProblem) {
        self.line = line
        fields.reserveCapacity(24)
        var position = 0
        var number = line
        while position < bytes.count {
            let end = Self.lineEnd(bytes, position)
            let firstLine = number
            var fieldEnd = end
            number += 1
            while fieldEnd < bytes.count, bytes[fieldEnd] == 0x20 || bytes[fieldEnd] == 0x09 {
                fieldEnd = Self.lineEnd(bytes, fieldEnd)
                number += 1
            }
            if bytes[position] != UInt8(ascii: "#") {
                try addField(UnsafeRawBufferPointer(rebasing: bytes[position..<fieldEnd]), lineLength: end - position, firstLine)
            }
            position = fieldEnd
        }
    }

    private static func lineEnd(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        guard let place = memchr(bytes.baseAddress! + start, 0x0A, bytes.count - start) else { return bytes.count }
        return UnsafeRawPointer(place) - bytes.baseAddress! + 1
    }

    private mutating func addField(
        _ bytes: UnsafeRawBufferPointer, lineLength: Int, _ number: Int
    ) throws(CatalogueProblem) {
        guard let colon = bytes[..<lineLength].firstIndex(of: UInt8(ascii: ":")), colon > 0, bytes[0] > 0x20 else {
            throw CatalogueProblem(line: number, reason: "the line has no field name")
        }
        guard let name = Self.name(UnsafeRawBufferPointer(rebasing: bytes[..<colon])) else { return }
        let value = Field(value: Self.trimmed(UnsafeRawBufferPointer(rebasing: bytes[(colon + 1)...])), line: number)
        guard fields.updateValue(value, forKey: name) == nil else {
            throw CatalogueProblem(line: number, reason: "the field \(name.rawValue) occurs twice")
        }
    }

    /// Field names do not distinguish case.
    private static func name(_ bytes: UnsafeRawBufferPointer) -> Name? {
        guard bytes.count < namesByLength.count else { return nil }
        return namesByLength[bytes.count].first { candidate in
            zip(candidate.bytes, bytes).allSatisfy { $0 | 0x20 == $1 | 0x20 }
        }?.name
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var range = 0..<bytes.count
        while let first = range.first, bytes[first] <= 0x20 { range = (first + 1)..<range.upperBound }
        while let last = range.last, bytes[last] <= 0x20 { range = range.lowerBound..<last }
        return UnsafeRawBufferPointer(rebasing: bytes[range])
    }
}

extension ControlParagraph {
    /// The package that the paragraph describes; nil when it is not installed according to its status.
    func package() throws(CatalogueProblem) -> PackageRecord? {
        if let status = try text(.status), !status.hasSuffix(" installed") { return nil }
        var record = PackageRecord(
            name: try required(.package), version: try required(.version), architecture: try required(.architecture))
        record.section = try text(.section)
        record.priority = try text(.priority)
        record.maintainer = try text(.maintainer).map(MaintainerName.init(parsing:))
        record.summary = try text(.description).map { String($0.prefix { !$0.isNewline }) }
        record.homepage = try text(.homepage)
        record.installedSize = try number(.installedSize).map { $0 * 1024 }
        record.downloadSize = try number(.size)
        record.isEssential = try text(.essential)?.lowercased() == "yes"
        record.tags = try tags()
        record.dependencies = try dependencies()
        return record
    }

    private func required(_ name: Name) throws(CatalogueProblem) -> String {
        guard let text = try text(name), !text.isEmpty else {
            throw CatalogueProblem(line: line, reason: "the paragraph has no field \(name.rawValue)")
        }
        return text
    }

    private func text(_ name: Name) throws(CatalogueProblem) -> String? {
        guard let field = fields[name] else { return nil }
        guard let text = String(validating: field.value, as: UTF8.self) else {
            throw CatalogueProblem(line: field.line, reason: "the field \(name.rawValue) is not UTF-8 text")
        }
        return text
    }

    private func number(_ name: Name) throws(CatalogueProblem) -> Int64? {
        guard let text = try text(name) else { return nil }
        guard let number = Int64(text), (0...(1 << 50)).contains(number) else {
            throw CatalogueProblem(line: fields[name]?.line ?? line, reason: "the field \(name.rawValue) is not a size")
        }
        return number
    }

    private func tags() throws(CatalogueProblem) -> [String] {
        guard let text = try text(.tag) else { return [] }
        return text.utf8.split { $0 == UInt8(ascii: ",") || $0 <= 0x20 }.compactMap { String($0) }
    }

    private func dependencies() throws(CatalogueProblem) -> [DependencyField] {
        var result: [DependencyField] = []
        for kind in DependencyKind.allCases {
            guard let name = Name(rawValue: kind.rawValue), let field = fields[name] else { continue }
            do {
                result.append(DependencyField(kind: kind, clauses: try DependencyParser.clauses(field.value)))
            } catch {
                let lineBreaks = field.value[..<error.offset].count { $0 == 0x0A }
                throw CatalogueProblem(
                    line: field.line + lineBreaks, reason: "the field \(kind.rawValue) is malformed: \(error.reason)")
            }
        }
        return result
    }
}
