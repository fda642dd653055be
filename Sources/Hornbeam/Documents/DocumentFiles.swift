internal import Foundation
internal import HornbeamModel

/// The operations on the files of documents. Each one begins with a step, at which tests end the process or throw an error.
package enum DocumentFiles {
    /// Nil outside of tests.
    @TaskLocal package static var observer: Observer?

    /// A closure that is called before each step with its name. An error that it throws is the error of the step.
    ///
    /// A class: in optimised programs of Swift 6.3, a task-local optional closure ends the process.
    package final class Observer: Sendable {
        fileprivate let willPerform: @Sendable (_ step: String) throws -> Void

        package init(_ willPerform: @escaping @Sendable (_ step: String) throws -> Void) { self.willPerform = willPerform }
    }

    static func step(_ name: String) throws { try observer?.willPerform(name) }

    static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// True for a symbolic link, also for a dangling one.
    static func isLink(_ url: URL) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: url.path))?[.type] as? FileAttributeType == .typeSymbolicLink
    }

    static func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    static func makeFolder(_ url: URL) throws {
        try step("make \(url.lastPathComponent)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Renames a folder. The name is durable after `sync`.
    static func move(_ source: URL, to target: URL) throws {
        try step("move \(source.lastPathComponent) to \(target.lastPathComponent)")
        try FileManager.default.moveItem(at: source, to: target)
    }

    /// Removes a folder with its contents, file by file. Does nothing if there is none.
    static func remove(_ url: URL) throws {
        guard exists(url) else { return }
        // A symbolic link is removed, not its target.
        if try FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType == .typeDirectory {
            for name in try names(in: url) { try remove(url.appending(path: name)) }
        }
        try step("remove \(url.lastPathComponent)")
        try FileManager.default.removeItem(at: url)
    }

    /// Makes the names in a folder durable.
    static func sync(_ folder: URL) throws {
        try step("sync \(folder.lastPathComponent)")
        let descriptor = unsafe open(folder.path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw HornbeamError(
                .inputOutput, "The folder \(folder.lastPathComponent) cannot be synced. Check its disk.", cause: "errno \(errno)")
        }
    }
}
