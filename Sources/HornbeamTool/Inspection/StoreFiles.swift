import Foundation

/// The files of a store on disk.
struct StoreFiles {
    let path: String

    /// Names and sizes, by name.
    var list: [(name: String, byteCount: Int)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.sorted().map { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            return (name, (attributes?[.size] as? NSNumber)?.intValue ?? 0)
        }
    }

    /// Their total size.
    var byteCount: Int { list.reduce(0) { $0 + $1.byteCount } }
}
