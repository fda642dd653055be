import Foundation

/// The packages in the catalogue of this machine, as a real data set: names with common prefixes, skewed sizes, long texts.
struct PackageCatalogue {
    struct Package {
        var name = ""
        var version = ""
        var architecture = ""
        var section = ""
        var summary = ""
        var installedSize = 0
        var depends: [String] = []
    }

    private(set) var packages: [Package] = []

    /// Nil if the machine has no catalogue.
    ///
    /// - Parameter file: A text with the lists of packages, read in the place of those of the machine. A profiler that runs the program in an
    ///   emulation cannot start the program that prints them.
    init?(file: String? = nil) throws {
        if let file {
            packages = Self.packages(in: try String(contentsOfFile: file, encoding: .utf8))
            return
        }
        let folder = "/var/lib/apt/lists"
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        let lists = names.filter { $0.contains("_Packages") && !$0.hasSuffix(".diff") }.map { "\(folder)/\($0)" }
        guard !lists.isEmpty else { return nil }
        var seen: Set<String> = []
        for list in lists {
            for package in Self.packages(in: try Self.text(of: list))
            where seen.insert("\(package.name) \(package.version) \(package.architecture)").inserted {
                packages.append(package)
            }
        }
        guard !packages.isEmpty else { return nil }
    }

    /// apt stores its lists compressed and can print them.
    private static func text(of path: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/lib/apt/apt-helper")
        process.arguments = ["cat-file", path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkError("apt-helper cannot read \(path).") }
        return String(decoding: data, as: UTF8.self)
    }

    private static func packages(in text: String) -> [Package] {
        var packages: [Package] = []
        var package = Package()
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty {
                if !package.name.isEmpty { packages.append(package) }
                package = Package()
            } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), line.first != UInt8(ascii: " ") {
                take(String(line[..<colon]) ?? "", line[line.index(after: colon)...].drop { $0 == UInt8(ascii: " ") }, &package)
            }
        }
        if !package.name.isEmpty { packages.append(package) }
        return packages
    }

    private static func take(_ field: String, _ bytes: Substring.UTF8View, _ package: inout Package) {
        let value = String(bytes) ?? ""
        switch field {
        case "Package": package.name = value
        case "Version": package.version = value
        case "Architecture": package.architecture = value
        case "Section": package.section = value
        case "Description": package.summary = value
        case "Installed-Size": package.installedSize = Int(value) ?? 0
        case "Depends":
            package.depends = value.split { $0 == "," || $0 == "|" }.compactMap { clause in
                clause.split(whereSeparator: { " :(".contains($0) }).first.map(String.init)
            }
        default: break
        }
    }
}
