import Foundation

/// Seconds of a steady clock.
func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// The seconds that a body takes, and what it gives back.
func timed<R>(_ body: () throws -> R) rethrows -> (seconds: Double, result: R) {
    let start = now()
    let result = try body()
    return (now() - start, result)
}
