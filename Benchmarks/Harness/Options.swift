import Foundation

/// The options of the command line.
struct Options {
    /// Records and rows of the main data sets.
    var rows = 1_000_000
    var repetitions = 3
    /// Small data, one repetition, no files: shows that the benchmarks still run.
    var isSmoke = false
    /// Only groups whose name contains this.
    var only: String?
    /// Where the stores are made; a folder in it is removed at the end.
    var folder = NSTemporaryDirectory()
    var json: String?
    var plots: String?
    /// The largest number of rows in the group that measures cost by size.
    var largest = 1_000_000
    /// One figure of memory, printed by a process that does nothing else.
    var memory: String?
    /// The work of one of several processes, which the group processes starts, and its amount.
    var member: String?
    var amount = 0.0
    /// A step of the rows G3, in a process of its own.
    var huge: String?
    /// Runs one step of one group repeatedly, for a profiler: `get`, `scan` …
    var profile: String?
    /// A text with lists of packages, in the place of the machine's catalogue.
    var catalogue: String?
    /// The measurement of one contestant in a process with limited memory.
    var limited = Limited()
    var isHelp = false

    struct Limited {
        var contestant = ""
        var group = ""
        var store = ""
        var poolBytes = 0
    }

    static let usage = """
        usage: bench [--smoke] [--rows N] [--repetitions N] [--only GROUP] [--largest N] [--folder PATH] [--json FILE] [--plots FOLDER]

          --smoke          small data, one repetition: shows that everything still runs and agrees
          --rows N         records and rows of the main data sets (default 1000000)
          --repetitions N  how often everything is measured, each time on new stores (default 3)
          --only GROUP     only the groups whose name contains GROUP: keys, events, graph, staff, locks, memory, overwrite,
                           catalogue, walks, sizes, limited, migration, import, lists, predicates, processes,
                           postgres (with Scripts/with-postgres); only when named: huge (--rows 100000000: two hours, 40 GB of disk)
          --largest N      the most rows of the group sizes (default 1000000; up to 10000000)
          --folder PATH    where the stores are made (default: the temporary folder)
          --json FILE      writes all samples with machine, commit and settings
          --plots FOLDER   writes the plots as SVG and the table as Markdown
          --catalogue FILE reads the lists of packages from a text, as under a profiler that cannot start other programs
          --profile STEP   runs one step of Hornbeam (or STEP@LMDB, STEP@SQLite) for eight seconds, for a profiler;
                           STEP shapes (or shapes@OPERATION): what an operation takes with 0, 100 and 10,000 pending changes;
                           STEP import, import-file or import-again: imports of new rows, of a file's, of unchanged rows;
                           STEP P1 to P7 (or STEP@libpq): the work with a PostgreSQL server;
                           STEP tails: how long durable commits take at worst beside checkpoints and cleaning
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError("\(name) needs a value.") }
                return value
            }
            func number() throws -> Int {
                let text = try value()
                guard let number = Int(text), number > 0 else { throw BenchmarkError("\(name) needs a positive number, not '\(text)'.") }
                return number
            }
            switch name {
            case "--smoke": (isSmoke, rows, repetitions, largest) = (true, 20_000, 1, 10_000)
            case "--rows": rows = try number()
            case "--repetitions": repetitions = try number()
            case "--only": only = try value()
            case "--largest": largest = try number()
            case "--memory": memory = try value()
            case "--folder": folder = try value()
            case "--json": json = try value()
            case "--plots": plots = try value()
            case "--limited": limited.contestant = try value()
            case "--group": limited.group = try value()
            case "--store": limited.store = try value()
            case "--pool": limited.poolBytes = try number()
            case "--member": member = try value()
            case "--huge": huge = try value()
            case "--amount": amount = Double(try value()) ?? 0
            case "--profile": profile = try value()
            case "--catalogue": catalogue = try value()
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError("There is no option \(name); see --help.")
            }
        }
    }

    func includes(_ group: String) -> Bool { only.map { group.contains($0) } ?? true }
}

/// The reason why a benchmark cannot continue.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
