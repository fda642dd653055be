// Makes errors of the engine from error numbers of the operating system.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

extension EngineError {
    /// The error for a forked child process that uses a store of its parent.
    static func forked(_ path: String) -> EngineError {
        EngineError(
            .closed, "The store was opened before this process was forked. Open it again in the child process.", path: path)
    }

    /// The error for a system call that failed on a file; `doing` completes "… failed while ".
    static func system(_ number: Int32, doing: String, path: String) -> EngineError {
        EngineError(code(number), message(number, doing: doing), path: path, errno: number)
    }

    private static func code(_ number: Int32) -> Code {
        switch number {
        case ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM: .full
        case EROFS, EACCES, EPERM: .readOnly
        case ENOENT, ENOTDIR: .notAStore
        default: .inputOutput
        }
    }

    private static func message(_ number: Int32, doing: String) -> String {
        let reason = reason(number)
        return switch number {
        case ENOSPC: "The disk is full (\(reason)) while \(doing). Free some space and try again."
        case EDQUOT: "The disk quota is used up (\(reason)) while \(doing). Free some space and try again."
        case EFBIG: "The file would exceed the size limit of the file system or of the process while \(doing)."
        case EMFILE, ENFILE: "Too many files are open (\(reason)) while \(doing). Raise the limit of open files."
        case EROFS: "The medium is read-only; writing is not possible while \(doing). Open the store read-only."
        case EACCES, EPERM: "Permission was denied while \(doing). Check owner and mode of the file and its folder."
        case ENOENT: "There is no such file or folder while \(doing)."
        case ENOTDIR: "Part of the path is not a folder while \(doing)."
        case ELOOP: "The file is a symbolic link (\(reason)) while \(doing). Replace the link with the file."
        case EEXIST: "The file exists already while \(doing)."
        default: "The operating system refused (\(reason)) while \(doing)."
        }
    }

    private static func reason(_ number: Int32) -> String {
        var text = [CChar](repeating: 0, count: 128)
        let count = text.count
        let failed = unsafe text.withUnsafeMutableBufferPointer { buffer in
            unsafe describe(number, buffer.baseAddress!, count)
        }
        if let failed { return failed }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// `strerror_r` has two forms: one fills the buffer, the other may return a text of its own.
    private static func describe(_ number: Int32, _ buffer: UnsafeMutablePointer<CChar>, _ count: Int) -> String? {
        unsafe strerror_r(number, buffer, count) == 0 ? nil : "error \(number)"
    }
}
