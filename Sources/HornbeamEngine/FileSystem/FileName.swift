// Names of numbered files, and paths made of a folder and a name.

/// `prefix` followed by 16 decimal digits, so that names sort as their numbers do.
func numberedFileName(_ prefix: String, _ number: UInt64) -> String {
    let digits = String(number)
    return prefix + String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
}

/// The number in a name made by `numberedFileName`; nil for anything else.
func number(ofFileName name: String, prefix: String) -> UInt64? {
    guard name.hasPrefix(prefix) else { return nil }
    let digits = name.dropFirst(prefix.count)
    guard digits.utf8.count == 16, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return UInt64(digits)
}

/// `folder/name`.
func join(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : folder + "/" + name
}

/// The folder that holds a path: `.` for a bare name, `/` for an entry of the root.
func parent(ofPath path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// The last component of a path.
func lastComponent(ofPath path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return path }
    return String(path[path.index(after: slash)...])
}

/// Sixteen digits, for checks in messages and dumps.
func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}
