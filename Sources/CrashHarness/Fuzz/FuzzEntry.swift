import Foundation
import Synchronization

// The functions that libFuzzer calls. `Scripts/fuzz` links them. Environment variables:
// HORNBEAM_FUZZ_TARGET, the name of the target; HORNBEAM_FUZZ_SEEDS, a folder for the initial inputs;
// HORNBEAM_FUZZ_FIGURES, a file whose number of executions is incremented.

private enum FuzzEntry {
    static let target = FuzzTarget(rawValue: variable("HORNBEAM_FUZZ_TARGET") ?? "")!
    static let executions = Atomic<Int>(0)
    static let start = ContinuousClock.now

    static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

    static func writeSeeds() throws {
        guard let folder = variable("HORNBEAM_FUZZ_SEEDS") else { return }
        for (number, seed) in target.seeds.enumerated() {
            try Data(seed).write(to: URL(fileURLWithPath: folder).appendingPathComponent("seed-\(number)"))
        }
    }

    static func writeFigures() {
        guard let path = variable("HORNBEAM_FUZZ_FIGURES") else { return }
        let count = executions.load(ordering: .relaxed)
        var sums = FiguresFile.ModeSums()
        sums.runs = 1
        sums.seconds = Int((ContinuousClock.now - start) / .seconds(1))
        sums.figures = ["executions": count, "executions of \(target.rawValue), guided by coverage": count]
        sums.commits = [Commit.current]
        do { try FiguresFile(path).add(sums, to: FuzzMode.name) } catch { Terminal.printError("\(error)") }
    }
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeFuzzing(_ count: UnsafeMutableRawPointer, _ words: UnsafeMutableRawPointer) -> CInt {
    do { try FuzzEntry.writeSeeds() } catch { fatalError("The inputs to begin with cannot be written: \(error)") }
    _ = FuzzEntry.start
    atexit { FuzzEntry.writeFigures() }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzEntry.executions.wrappingAdd(1, ordering: .relaxed)
    do { unsafe try FuzzEntry.target.run(Array(UnsafeBufferPointer(start: data, count: count))) } catch { fatalError("finding: \(error)") }
    return 0
}
