// The content of a simulated disk at one moment: folders and files by number. It is a value: a copy is a snapshot, and crash images share
// the storage of equal files.

internal import HornbeamEngine

/// The folders and files of a simulated disk.
struct DiskState {
    /// The number of a file or folder, independent of its path; 0 is the root.
    typealias NodeID = Int

    enum Node {
        case file([UInt8])
        case directory([String: NodeID])
    }

    static let root: NodeID = 0

    private(set) var nodes: [NodeID: Node] = [root: .directory([:])]

    /// A change of a folder's entries.
    enum EntryChange {
        case add(directory: NodeID, name: String, node: NodeID)
        case remove(directory: NodeID, name: String, node: NodeID)
        case move(from: NodeID, source: String, to: NodeID, target: String, node: NodeID)

        /// The folder whose sync makes the change durable.
        var directory: NodeID {
            switch self {
            case .add(let directory, _, _), .remove(let directory, _, _): directory
            case .move(_, _, let directory, _, _): directory
            }
        }
    }

    mutating func insert(_ node: NodeID, isDirectory: Bool) {
        nodes[node] = isDirectory ? .directory([:]) : .file([])
    }

    mutating func apply(_ change: EntryChange) {
        switch change {
        case .add(let directory, let name, let node):
            update(directory) { $0[name] = node }
        case .remove(let directory, let name, let node):
            update(directory) { if $0[name] == node { $0[name] = nil } }
        case .move(let from, let source, let to, let target, let node):
            update(from) { if $0[source] == node { $0[source] = nil } }
            update(to) { $0[target] = node }
        }
    }

    private mutating func update(_ directory: NodeID, _ body: (inout [String: NodeID]) -> Void) {
        guard case .directory(var entries)? = nodes[directory] else { return }
        body(&entries)
        nodes[directory] = .directory(entries)
    }

    /// Writes to a file. Fills a gap before the offset with zeros.
    mutating func write(_ bytes: ArraySlice<UInt8>, to node: NodeID, at offset: Int) {
        guard case .file(var content)? = nodes.removeValue(forKey: node) else { return }
        let missing = offset + bytes.count - content.count
        if missing > 0 { content.append(contentsOf: [UInt8](repeating: 0, count: missing)) }
        unsafe content.withMutableBytes { target in
            unsafe bytes.withUnsafeBytes { unsafe target.part(offset..<offset + bytes.count).copyMemory(from: $0) }
        }
        nodes[node] = .file(content)
    }

    mutating func replaceContent(of node: NodeID, with content: [UInt8]) { nodes[node] = .file(content) }

    func content(of node: NodeID) -> [UInt8]? {
        guard case .file(let content)? = nodes[node] else { return nil }
        return content
    }

    func entries(of node: NodeID) -> [String: NodeID]? {
        guard case .directory(let entries)? = nodes[node] else { return nil }
        return entries
    }

    /// The file or folder at a path; nil if there is none.
    func node(at path: String) -> NodeID? {
        var node = DiskState.root
        for name in path.split(separator: "/") where name != "." {
            guard let next = entries(of: node)?[String(name)] else { return nil }
            node = next
        }
        return node
    }

    /// Bytes of all files in folders, in whole blocks. Unlinked files do not count.
    var used: Int { blocks(under: DiskState.root) * CrashModel.blockBytes }

    private func blocks(under node: NodeID) -> Int {
        switch nodes[node] {
        case .file(let content)?: (content.count + CrashModel.blockBytes - 1) / CrashModel.blockBytes
        case .directory(let entries)?: entries.values.reduce(0) { $0 + blocks(under: $1) }
        case nil: 0
        }
    }

    /// The bytes of all files by path, for comparisons and failure reports.
    func files(under node: NodeID = root, path: String = "") -> [String: [UInt8]] {
        switch nodes[node] {
        case .file(let content)?: return [path: content]
        case .directory(let entries)?:
            var found: [String: [UInt8]] = [:]
            for (name, child) in entries {
                found.merge(files(under: child, path: path.isEmpty ? name : path + "/" + name)) { $1 }
            }
            return found
        case nil: return [:]
        }
    }
}
