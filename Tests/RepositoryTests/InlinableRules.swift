import Testing

/// The compiler inlines and specialises a function of another module only if the type of the function is public or `@usableFromInline` too. Otherwise it
/// accepts `@inlinable` without a warning and ignores it.
@Suite struct InlinableRules {
    @Test func inlinableMembersBelongToTypesThatCanBeUsedFromInline() {
        let ignored = Repository.sourceFiles.filter { $0.path.hasPrefix("Sources/") }.flatMap(Self.ignored)
        #expect(ignored.isEmpty, "Mark these types @usableFromInline: the compiler ignores the attribute of their members.")
    }

    /// The places of `@inlinable` in types that are neither public nor `@usableFromInline`.
    private static func ignored(_ file: TextFile) -> [String] {
        var isHidden = false
        var places: [String] = []
        for (index, line) in file.lines.enumerated() {
            if line.hasPrefix("extension ") || line.contains(" extension ") { isHidden = false }
            if declaresType(line) {
                let attributes = index > 0 && file.lines[index - 1].hasPrefix("@") ? file.lines[index - 1] : ""
                isHidden = !["public ", "open ", "@usableFromInline"].contains { line.contains($0) || attributes.contains($0) }
            }
            if isHidden, line.contains("@inlinable") { places.append(file.place(index)) }
        }
        return places
    }

    /// True for a declaration at the top level of a file.
    private static func declaresType(_ line: Substring) -> Bool {
        guard let first = line.first, first != " ", first != "/" else { return false }
        return [" struct ", " class ", " enum "].contains { " \(line)".contains($0) }
    }
}
