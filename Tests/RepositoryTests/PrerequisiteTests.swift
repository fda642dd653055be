import Foundation
import Testing

/// `Scripts/prerequisites.sh` on simulated machines: a folder of small scripts replaces the commands.
@Suite struct PrerequisiteTests {
    @Test func nothingIsInstalledWhereNothingIsMissing() throws {
        let machine = try Machine(hasHeader: true)
        try machine.add("apt-get", "exit 9")
        #expect(try machine.run("need_lz4") == Machine.Outcome(status: 0, output: "", calls: []))
    }

    @Test func rootInstallsWithAptAfterFetchingItsLists() throws {
        let machine = try Machine(userID: 0)
        try machine.addWorkingApt()
        let outcome = try machine.run("need_lz4")
        #expect(outcome.status == 0)
        #expect(outcome.output == "== installing liblz4-dev with apt\n")
        #expect(outcome.calls == ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends liblz4-dev"])
    }

    @Test func othersInstallThroughSudo() throws {
        let machine = try Machine(userID: 1000)
        try machine.addWorkingApt()
        try machine.add("sudo", #"exec "$@""#)
        let outcome = try machine.run("need_lz4")
        #expect(outcome.status == 0)
        #expect(outcome.calls.first == "sudo apt-get update -qq")
        #expect(outcome.calls.contains("apt-get install -y -qq --no-install-recommends liblz4-dev"))
    }

    @Test func withoutRootAndSudoOneSentenceSaysWhatToDo() throws {
        let machine = try Machine(userID: 1000)
        try machine.addWorkingApt()
        let outcome = try machine.run("need_lz4")
        #expect(outcome.status == 1)
        #expect(outcome.output.contains(
            "error: installing packages needs root and there is no sudo here; as root, run: apt-get update -qq\n"))
    }

    @Test func aFailureOfAptIsNamed() throws {
        let machine = try Machine(userID: 0)
        try machine.add("apt-get", "exit 100")
        let outcome = try machine.run("need_lz4")
        #expect(outcome.status == 1)
        #expect(outcome.output.hasSuffix(
            "error: 'apt-get update' failed, so liblz4-dev cannot be installed; see apt's message above (is the network reachable?).\n"))
    }

    @Test func withoutAnyInstallerOneSentenceSaysWhatIsMissing() throws {
        let outcome = try Machine().run("need_lz4")
        #expect(outcome.status == 1)
        #expect(outcome.output == "error: <lz4frame.h> is missing and there is no apt here; "
            + "install the development files of liblz4 and run this again.\n")
    }

    @Test(arguments: [
        ("Swift version 6.2 (swift-6.2-RELEASE)", nil), ("Apple Swift version 6.3.1 (swiftlang-6.3.1)", nil),
        ("Swift version 6.1.2 (swift-6.1.2-RELEASE)", "Hornbeam needs Swift 6.2 or later and found 6.1"),
        ("Swift version 5.10 (swift-5.10-RELEASE)", "Hornbeam needs Swift 6.2 or later and found 5.10"),
        ("no such thing", "'swift --version' names no version"),
    ] as [(String, String?)])
    func theToolchainMustBeNewEnough(version: String, complaint: String?) throws {
        let machine = try Machine()
        try machine.add("swift", "echo '\(version)'")
        let outcome = try machine.run("need_swift")
        #expect(outcome.status == (complaint == nil ? 0 : 1))
        if let complaint { #expect(outcome.output.contains(complaint)) } else { #expect(outcome.output == "") }
    }

    @Test func aMissingToolchainIsNamed() throws {
        let outcome = try Machine().run("need_swift")
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("error: no Swift toolchain on the PATH"))
    }
}

/// A simulated machine with the commands that a test defines. Each command records its calls.
private final class Machine {
    struct Outcome: Equatable {
        let status: Int32
        let output: String
        /// The commands that were called, with their arguments, without those that only read.
        let calls: [String]
    }

    private let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)")

    init(userID: Int = 0, hasHeader: Bool = false) throws {
        try FileManager.default.createDirectory(at: folder.appending(path: "bin"), withIntermediateDirectories: true)
        for name in ["sed", "head", "env"] {
            let target = ["/usr/bin/", "/bin/"].map { $0 + name }.first(where: FileManager.default.fileExists(atPath:))
            try FileManager.default.createSymbolicLink(
                atPath: folder.appending(path: "bin/\(name)").path, withDestinationPath: try #require(target))
        }
        try add("id", "echo \(userID)", isNoted: false)
        try add("uname", "echo Linux", isNoted: false)
        try add("clang", #"while read -r line; do :; done; [ -e "$MACHINE/header" ]"#, isNoted: false)
        if hasHeader { try Data().write(to: folder.appending(path: "header")) }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func add(_ name: String, _ script: String, isNoted: Bool = true) throws {
        let note = isNoted ? "echo \"\(name) $*\" >>\"$MACHINE/calls\"\n" : ""
        let file = folder.appending(path: "bin/\(name)")
        try "#!/bin/bash\n\(note)\(script)\n".write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }

    func addWorkingApt() throws { try add("apt-get", #"[ "$1" = update ] || : >"$MACHINE/header""#) }

    func run(_ function: String) throws -> Outcome {
        let script = Repository.root.appending(path: "Scripts/prerequisites.sh").path
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-c", "set -euo pipefail; . '\(script)'; \(function)"]
        process.environment = ["PATH": folder.appending(path: "bin").path, "MACHINE": folder.path]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let calls = (try? String(contentsOf: folder.appending(path: "calls"), encoding: .utf8)) ?? ""
        return Outcome(
            status: process.terminationStatus, output: String(decoding: output, as: UTF8.self),
            calls: calls.split(separator: "\n").map(String.init))
    }
}
