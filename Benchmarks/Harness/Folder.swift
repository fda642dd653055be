import Foundation

/// A folder of its own for the stores of one run; removed when the run ends.
final class Folder {
    let path: String

    init(in parent: String) throws {
        path = (parent as NSString).appendingPathComponent("hornbeam-bench-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Removes the files at a path in the folder and returns the path. Waits until the file system has discarded the freed blocks on the
    /// device; otherwise the file system does it later, during another measurement.
    func empty(_ name: String) throws -> String {
        let place = path + "/" + name
        if FileManager.default.fileExists(atPath: place) {
            try FileManager.default.removeItem(atPath: place)
            sync()
        }
        return place
    }

    /// Bytes of the files at or below a path.
    static func bytes(at path: String) -> Int {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return 0 }
        func size(_ file: String) -> Int {
            (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
        }
        guard isFolder.boolValue else { return size(path) }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { $0 + bytes(at: path + "/" + $1) }
    }

    static func copy(_ source: String, to target: String) throws {
        try FileManager.default.copyItem(atPath: source, toPath: target)
    }
}
