internal import Foundation
internal import HornbeamModel

// New documents. A document is made under a temporary name, locked, and renamed when it is complete and durable.

extension DocumentPackage {
    /// Makes a new document, and returns it locked: `fill` writes the saved store. After an error there is no document at the URL, unless the disk also
    /// refuses to remove a complete one.
    static func make(at url: URL, _ fill: (URL) throws -> Void) throws -> DocumentPackage {
        guard !DocumentFiles.exists(url) else {
            throw HornbeamError(
                .notAStore, "\(url.lastPathComponent) exists already. Remove it, or choose another name for the document.")
        }
        let draft = draft(of: url)
        let parent = url.deletingLastPathComponent()
        let package: DocumentPackage
        do {
            try files(of: url) { try DocumentFiles.makeFolder(draft) }
            removeDrafts(of: url, except: draft)
            package = try DocumentPackage(url, locking: draft)
            try fill(store("saved", in: draft))
            try files(of: url) {
                try DocumentFiles.sync(draft)
                try DocumentFiles.move(draft, to: url)
            }
        } catch {
            try? DocumentFiles.remove(draft)
            throw error
        }
        do { try files(of: url) { try DocumentFiles.sync(parent) } } catch {
            package.removeDocument()
            throw error
        }
        return package
    }

    /// Removes a document that was just made, after a later step failed. A part that remains is not at the document's URL.
    func removeDocument() {
        let draft = Self.draft(of: url)
        guard (try? DocumentFiles.move(url, to: draft)) != nil else { return }
        try? DocumentFiles.remove(draft)
    }

    private static func mark(of url: URL) -> String { ".\(url.lastPathComponent).new-" }

    private static func draft(of url: URL) -> URL {
        url.deletingLastPathComponent().appending(path: mark(of: url) + UUID().uuidString)
    }

    /// Removes the incomplete documents of the same name that crashes left. The lock shows that no process is still making one.
    private static func removeDrafts(of url: URL, except own: URL) {
        let parent = url.deletingLastPathComponent()
        let names = (try? DocumentFiles.names(in: parent)) ?? []
        for name in names where name.hasPrefix(mark(of: url)) && name != own.lastPathComponent {
            guard UUID(uuidString: String(name.dropFirst(mark(of: url).count))) != nil else { continue }
            let draft = parent.appending(path: name)
            guard let abandoned = try? DocumentPackage(url, locking: draft) else { continue }
            try? DocumentFiles.remove(draft)
            withExtendedLifetime(abandoned) {}
        }
    }
}
