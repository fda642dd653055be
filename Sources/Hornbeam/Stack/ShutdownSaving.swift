internal import Dispatch
public import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// Saves at the end of the process, for command-line programs and servers (STK-7).
extension DataStack {
    /// Saves both contexts when the process exits normally, and when it receives one of the signals.
    ///
    /// After a signal, the contexts are saved, the earlier handler is restored, and the signal is sent again, so that the process ends as
    /// without this call. The main context is saved first, on the main actor, then the background context; each is waited for at most as long as
    /// `patience`. When it is busy for longer, its changes are lost, and `onFailure` receives an error. A process that exits inside `perform`
    /// does not save what that call has begun. Unsaved changes of a process that is killed (`SIGKILL`) are lost too.
    ///
    /// - Parameters:
    ///   - signals: The signals after which to save.
    ///   - patience: The longest wait for the main actor, and for the background context.
    ///   - onFailure: Receives the error of a save; the default writes it to the standard error.
    public func saveAtShutdown(
        signals: [Int32] = [SIGTERM, SIGINT], patience: Duration = .seconds(5),
        onFailure: @escaping @Sendable (any Error) -> Void = { error in
            FileHandle.standardError.write(Data("Saving at shutdown failed: \(error)\n".utf8))
        }
    ) {
        let entry = ShutdownSaving.Entry(
            owner: self, patience: patience, onFailure: onFailure,
            saveBackground: { [weak self] in _ = try await self?.usedBackgroundContext?.perform { try $0.saveChanges() } },
            saveMain: { [weak self] in _ = try self?.saveMainContext() })
        ShutdownSaving.add(entry, signals)
    }

    /// Reverts `saveAtShutdown`.
    public func stopSavingAtShutdown() { ShutdownSaving.remove(self) }
}

/// The stacks and documents that are saved at the end of the process. The list is that of the process, as its signals are.
enum ShutdownSaving {
    struct Entry: Sendable {
        weak let owner: (any AnyObject & Sendable)?
        let patience: Duration
        let onFailure: @Sendable (any Error) -> Void
        var saveBackground: (@Sendable () async throws -> Void)?
        let saveMain: @MainActor @Sendable () throws -> Void
    }

    private struct State {
        var entries: [Entry] = []
        /// The earlier handlers of the signals that are handled here.
        var handlers: [Int32: sigaction] = [:]
        var isInstalled = false
    }

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
            for number in signals where state.handlers[number] == nil { state.handlers[number] = handleSignal(number) }
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

    /// Saves, and sends the signal to this thread with the earlier handler, which has run when `raise` returns.
    private static func end(with number: Int32) {
        saveAll()
        guard var earlier = state.withLock({ $0.handlers[number] }) else { return }
        _ = unsafe sigaction(number, &earlier, nil)
        // Threads that Foundation starts may block signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        // The earlier handler let the process live.
        _ = handleSignal(number)
    }

    private static func saveAll() {
        for entry in state.withLock(\.entries) {
            guard let owner = entry.owner else { continue }
            withExtendedLifetime(owner) {
                saveMainContext(entry)
                saveBackgroundContext(entry)
            }
        }
    }

    private static func saveMainContext(_ entry: Entry) {
        let save: @MainActor @Sendable () -> Void = {
            do { try entry.saveMain() } catch { entry.onFailure(error) }
        }
        if Thread.isMainThread || DispatchQueue.getSpecific(key: isMainQueue) == true { return MainActor.assumeIsolated(save) }
        wait(for: "main actor", entry) { await save() }
    }

    private static func saveBackgroundContext(_ entry: Entry) {
        guard let save = entry.saveBackground else { return }
        wait(for: "background context", entry) {
            do { try await save() } catch { entry.onFailure(error) }
        }
    }

    /// Runs work in a task of its own, and waits for it as long as the entry says.
    private static func wait(for name: String, _ entry: Entry, _ work: @escaping @Sendable () async -> Void) {
        let isDone = Guarded(false)
        Task {
            await work()
            isDone.withLock { $0 = true }
        }
        let end = ContinuousClock.now + entry.patience
        while !isDone.withLock(\.self) {
            if ContinuousClock.now >= end {
                return entry.onFailure(
                    HornbeamError(.saveFailed, "The \(name) was busy for \(entry.patience), so its unsaved changes are lost at the end of the process."))
            }
            usleep(1000)
        }
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

/// Makes `signalArrived` the handler of a signal; returns the earlier one.
private func handleSignal(_ number: Int32) -> sigaction {
    var (handler, earlier) = (sigaction(), sigaction())
    #if canImport(Darwin)
        unsafe handler.__sigaction_u.__sa_handler = signalArrived
    #else
        unsafe handler.__sigaction_handler.sa_handler = signalArrived
    #endif
    handler.sa_flags = SA_RESTART
    _ = unsafe sigaction(number, &handler, &earlier)
    return earlier
}

private func signalArrived(_ number: Int32) {
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
