import Foundation

/// The part of a measurement that one thread runs.
private final class Part {
    let index: Int
    let body: (Int) throws -> UInt64
    var result: Result<UInt64, any Error> = .success(0)

    init(index: Int, body: @escaping (Int) throws -> UInt64) {
        self.index = index
        self.body = body
    }
}

/// Runs a body on this number of threads concurrently and returns the sum of the results.
func onThreads(_ count: Int, _ body: (Int) throws -> UInt64) throws -> UInt64 {
    try withoutActuallyEscaping(body) { body in
        let parts = (0..<count).map { Part(index: $0, body: body) }
        let threads = try parts.map { part in
            var thread = pthread_t()
            let status = pthread_create(
                &thread, nil,
                { argument in
                    let part = Unmanaged<Part>.fromOpaque(argument!).takeUnretainedValue()
                    part.result = Result { try part.body(part.index) }
                    return nil
                }, Unmanaged.passUnretained(part).toOpaque())
            guard status == 0 else { throw BenchmarkError("A thread could not be started.") }
            return thread
        }
        for thread in threads { pthread_join(thread, nil) }
        return try parts.reduce(0) { $0 &+ (try $1.result.get()) }
    }
}
