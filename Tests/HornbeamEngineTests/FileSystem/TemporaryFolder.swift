import Glibc

/// A folder of the operating system that is removed with the object.
final class TemporaryFolder {
    let path: String

    init() {
        var template = Array("/tmp/hornbeam-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("No temporary folder can be made.") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        chmod(path, 0o700)
        Self.removeAll(path)
    }

    private static func removeAll(_ path: String) {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != "." && name != ".." { removeAll(path + "/" + name) }
            }
            closedir(directory)
        }
        remove(path)
    }
}
