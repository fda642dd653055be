import Foundation

/// Seconds of a steady clock.
func now() -> Double { seconds(of: CLOCK_MONOTONIC) }

private func seconds(of clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// The duration of a body in seconds, and its result.
func timed<R>(_ body: () throws -> R) rethrows -> (seconds: Double, result: R) {
    let start = now()
    let result = try body()
    return (now() - start, result)
}

/// Seconds of processor that the calling thread has used.
private func threadTime() -> Double { seconds(of: CLOCK_THREAD_CPUTIME_ID) }

/// Seconds of processor that all threads of the process have used.
func processTime() -> Double { seconds(of: CLOCK_PROCESS_CPUTIME_ID) }

/// The seconds of processor that a body takes: for work of one thread without I/O, where it equals the elapsed time on
/// an idle machine. Other programs disturb it less than the elapsed time.
func processorTimed<R>(_ body: () throws -> R) rethrows -> (seconds: Double, result: R) {
    let start = threadTime()
    let result = try body()
    return (threadTime() - start, result)
}
