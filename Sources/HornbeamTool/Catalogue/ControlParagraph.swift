import Foundation

/// The fields of one paragraph, as ranges in borrowed bytes.
struct ControlParagraph {
    @safe private struct Field {
        let value: UnsafeRawBufferPointer
        let line: Int
    }

    /// The fields of a package record; all others are skipped.
    private enum Name: Int, CaseIterable {
        case package, version, architecture, section, priority, maintainer, description, homepage, installedSize, size
        case essential, status, tag, depends, preDepends, recommends, suggests, enhances

        var spelling: String {
            switch self {
            case .installedSize: "Installed-Size"
            case .preDepends: "Pre-Depends"
            default: "\(self)".prefix(1).uppercased() + "\(self)".dropFirst()
            }
        }

        init(_ kind: DependencyKind) {
            self = switch kind {
            case .depends: .depends
            case .preDepends: .preDepends
            case .recommends: .recommends
            case .suggests: .suggests
            case .enhances: .enhances
            }
        }
    }

    /// Known names by length, so that a field is compared with at most two or three of them.
    private static let namesByLength: [[(bytes: [UInt8], name: Name)]] = {
        var table = [[(bytes: [UInt8], name: Name)]](repeating: [], count: 16)
        for name in Name.allCases { table[name.spelling.utf8.count].append((Array(name.spelling.utf8), name)) }
        return table
    }()

    private let line: Int
    /// Indexed by the raw value of `Name`.
    private var fields = [Field?](repeating: nil, count: Name.allCases.count)

    /// - Parameters:
    ///   - bytes: The paragraph without the blank line after it; must outlive this value.
    ///   - line: The number of its first line.
    init(_ bytes: UnsafeRawBufferPointer, line: Int) throws(CatalogueProblem) {
        self.line = line
        var position = 0
        var number = line
        while position < bytes.count {
            let end = unsafe Self.lineEnd(bytes, position)
            let firstLine = number
            var fieldEnd = end
            number += 1
            while fieldEnd < bytes.count, unsafe bytes[fieldEnd] == 0x20 || bytes[fieldEnd] == 0x09 {
                fieldEnd = unsafe Self.lineEnd(bytes, fieldEnd)
                number += 1
            }
            if unsafe bytes[position] != UInt8(ascii: "#") {
                unsafe try addField(UnsafeRawBufferPointer(rebasing: bytes[position..<fieldEnd]), lineLength: end - position, firstLine)
            }
            position = fieldEnd
        }
    }

    private static func lineEnd(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        guard let place = unsafe memchr(bytes.baseAddress! + start, 0x0A, bytes.count - start) else { return bytes.count }
        return unsafe UnsafeRawPointer(place) - bytes.baseAddress! + 1
    }

    private mutating func addField(
        _ bytes: UnsafeRawBufferPointer, lineLength: Int, _ number: Int
    ) throws(CatalogueProblem) {
        guard let colon = unsafe bytes[..<lineLength].firstIndex(of: UInt8(ascii: ":")), colon > 0, unsafe bytes[0] > 0x20 else {
            throw CatalogueProblem(line: number, reason: "the line has no field name")
        }
        guard let name = unsafe Self.name(UnsafeRawBufferPointer(rebasing: bytes[..<colon])) else { return }
        guard fields[name.rawValue] == nil else {
            throw CatalogueProblem(line: number, reason: "the field \(name.spelling) occurs twice")
        }
        let value = unsafe Self.trimmed(UnsafeRawBufferPointer(rebasing: bytes[(colon + 1)...]))
        fields[name.rawValue] = unsafe Field(value: value, line: number)
    }

    /// Field names are case-insensitive.
    private static func name(_ bytes: UnsafeRawBufferPointer) -> Name? {
        guard bytes.count < namesByLength.count else { return nil }
        return namesByLength[bytes.count].first { unsafe isSame($0.bytes, bytes) }?.name
    }

    private static func isSame(_ a: [UInt8], _ b: UnsafeRawBufferPointer) -> Bool {
        for (index, byte) in a.enumerated() where unsafe byte | 0x20 != b[index] | 0x20 { return false }
        return true
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var range = 0..<bytes.count
        while let first = range.first, unsafe bytes[first] <= 0x20 { range = (first + 1)..<range.upperBound }
        while let last = range.last, unsafe bytes[last] <= 0x20 { range = range.lowerBound..<last }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
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
        record.summary = try firstLine(.description)
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
            throw CatalogueProblem(line: line, reason: "the paragraph has no field \(name.spelling)")
        }
        return text
    }

    private func text(_ name: Name) throws(CatalogueProblem) -> String? {
        guard let field = fields[name.rawValue] else { return nil }
        guard let text = unsafe String(validating: field.value, as: UTF8.self) else {
            throw CatalogueProblem(line: field.line, reason: "the field \(name.spelling) is not UTF-8 text")
        }
        return text
    }

    private func firstLine(_ name: Name) throws(CatalogueProblem) -> String? {
        try text(name).map { text in String(text.utf8.prefix { $0 != 0x0A && $0 != 0x0D }) ?? text }
    }

    private func number(_ name: Name) throws(CatalogueProblem) -> Int64? {
        guard let text = try text(name) else { return nil }
        guard let number = Int64(text), (0...(1 << 50)).contains(number) else {
            throw CatalogueProblem(line: fields[name.rawValue]?.line ?? line, reason: "the field \(name.spelling) is not a size")
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
            guard let field = fields[Name(kind).rawValue] else { continue }
            do {
                unsafe result.append(DependencyField(kind: kind, clauses: try DependencyParser.clauses(field.value)))
            } catch {
                let lineBreaks = unsafe field.value[..<error.offset].count { $0 == 0x0A }
                throw CatalogueProblem(
                    line: field.line + lineBreaks, reason: "the field \(kind.rawValue) is malformed: \(error.reason)")
            }
        }
        return result
    }
}
