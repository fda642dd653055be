/// The data of a package in one paragraph of the catalogue.
struct PackageRecord: Equatable, Sendable {
    var name: String
    var version: String
    var architecture: String
    /// The section, such as `games` or `non-free/libs`; nil when the paragraph names none.
    var section: String?
    var priority: String?
    var maintainer: MaintainerName?
    /// The first line of the description.
    var summary: String?
    var homepage: String?
    /// The installed size in bytes.
    var installedSize: Int64?
    /// The size of the package file in bytes.
    var downloadSize: Int64?
    var isEssential = false
    var tags: [String] = []
    var dependencies: [DependencyField] = []
}

/// Name and address of a maintainer.
struct MaintainerName: Hashable, Sendable {
    var name: String
    /// Nil when the field contains only a name.
    var address: String?
}

extension MaintainerName {
    /// Parses `Jane Doe <jane@example.org>`, with or without quotes around the name.
    init(parsing text: String) {
        let bytes = text.utf8
        guard let open = bytes.lastIndex(of: UInt8(ascii: "<")),
            let close = bytes[open...].firstIndex(of: UInt8(ascii: ">"))
        else {
            self.init(name: Self.trimmed(bytes[...]), address: nil)
            return
        }
        let address = String(text[bytes.index(after: open)..<close])
        let name = Self.trimmed(bytes[..<open])
        self.init(name: name.isEmpty ? address : name, address: address.isEmpty ? nil : address)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        var text = text.drop { $0 <= 0x20 }
        while let last = text.last, last <= 0x20 { text.removeLast() }
        if text.count >= 2, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") { text = text.dropFirst().dropLast() }
        return String(Substring(text))
    }
}
