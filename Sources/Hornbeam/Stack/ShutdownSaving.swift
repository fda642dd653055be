internal import Dispatch
public import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// Saves at the end of the process, for command-line programs and servers (STK-7).
extension DataStack {
    /// Saves both contexts when the process exits normally, and when it receives one of the signals.
    ///
    /// After a signal, the contexts are saved, the earlier handler is restored, and the signal is sent again, so that the process ends as
    /// without this call. The main context is saved on the main actor; when the main actor is busy for longer than `patience`, its changes are
    /// lost. Unsaved changes of a process that is killed (`SIGKILL`) are lost too.
    ///
    /// - Parameters:
    ///   - signals: The signals after which to save.
    ///   - patience: The longest wait for the main actor.
    ///   - onFailure: Receives the error of a save; the default writes it to the standard error.
    public func saveAtShutdown(
        signals: [Int32] = [SIGTERM, SIGINT], patience: Duration = .seconds(5),
        onFailure: @escaping @Sendable (any Error) -> Void = { error in
            FileHandle.standardError.write(Data("Saving at shutdown failed: \(error)\n".utf8))
        }
    ) {
        let entry = ShutdownSaving.Entry(
            owner: self, patience: patience, onFailure: onFailure, saveBackground: { [weak self] in try self?.saveBackgroundContextAndWait() },
            saveMain: { [weak self] in _ = try self?.saveMainContext() })
        ShutdownSaving.add(entry, signals)
    }

    /// Reverts `saveAtShutdown`.
    public func stopSavingAtShutdown() { ShutdownSaving.remove(self) }

    fileprivate func saveBackgroundContextAndWait() throws {
        _ = try usedBackgroundContext?.performAndWait { try $0.saveChanges() }
    }
}

/// The stacks and documents that are saved at the end of the process. The list is that of the process, as its signals are.
enum ShutdownSaving {
    struct Entry: Sendable {
        weak let owner: (any AnyObject & Sendable)?
        let patience: Duration
        let onFailure: @Sendable (any Error) -> Void
        var saveBackground: @Sendable () throws -> Void = {}
        let saveMain: @MainActor @Sendable () throws -> Void
    }

    private struct State {
        var entries: [Entry] = []
        /// The earlier handlers of the signals that are handled here.
        var handlers: [Int32: SignalHandler?] = [:]
        var isInstalled = false
    }

    private typealias SignalHandler = @convention(c) (Int32) -> Void
    private static let state = Guarded(State())

    static func add(_ entry: Entry, _ signals: [Int32]) {
        let isFirst = state.withLock { state in
            state.entries.removeAll { $0.owner == nil || $0.owner === entry.owner }
            state.entries.append(entry)
            defer { state.isInstalled = true }
            return !state.isInstalled
        }
        if isFirst { install() }
        state.withLock { state in
            for number in signals where state.handlers[number] == nil { state.handlers[number] = signal(number, noteSignal) }
        }
    }

    static func remove(_ owner: any AnyObject & Sendable) {
        state.withLock { $0.entries.removeAll { $0.owner == nil || $0.owner === owner } }
    }

    private static func install() {
        _ = signalPipe
        DispatchQueue.main.setSpecific(key: isMainQueue, value: true)
        atexit { ShutdownSaving.saveAll() }
        let thread = Thread {
            while let number = nextSignal() { end(with: number) }
        }
        thread.name = "hornbeam signals"
        thread.start()
    }

    private static func end(with number: Int32) {
        saveAll()
        let earlier = state.withLock { $0.handlers[number] ?? nil }
        signal(number, earlier)
        kill(getpid(), number)
        // The earlier handler let the process live.
        signal(number, noteSignal)
    }

    private static func saveAll() {
        for entry in state.withLock(\.entries) {
            guard let owner = entry.owner else { continue }
            withExtendedLifetime(owner) {
                do { try entry.saveBackground() } catch { entry.onFailure(error) }
                saveMainContext(entry)
            }
        }
    }

    private static func saveMainContext(_ entry: Entry) {
        let save: @MainActor @Sendable () -> Void = {
            do { try entry.saveMain() } catch { entry.onFailure(error) }
        }
        if Thread.isMainThread || DispatchQueue.getSpecific(key: isMainQueue) == true { return MainActor.assumeIsolated(save) }
        let isDone = Guarded(false)
        Task { @MainActor in
            save()
            isDone.withLock { $0 = true }
        }
        let end = ContinuousClock.now + entry.patience
        while !isDone.withLock(\.self), ContinuousClock.now < end { usleep(1000) }
    }
}

private let isMainQueue = DispatchSpecificKey<Bool>()

// The handler of a signal may call only a few functions of the system, so it writes the number into a pipe, from which a thread reads it.

private let signalPipe: (read: Int32, write: Int32) = {
    var ends: [Int32] = [-1, -1]
    unsafe require(pipe(&ends) == 0, "The process has no file descriptor left for the pipe of signals.")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}()

private func noteSignal(_ number: Int32) {
    var byte = UInt8(truncatingIfNeeded: number)
    _ = unsafe write(signalPipe.write, &byte, 1)
}

/// The next signal; waits for it.
private func nextSignal() -> Int32? {
    var byte: UInt8 = 0
    while true {
        let count = unsafe read(signalPipe.read, &byte, 1)
        if count == 1 { return Int32(byte) }
        if count < 0, errno == EINTR { continue }
        return nil
    }
}
