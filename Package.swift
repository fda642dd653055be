// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// Warnings are errors in builds that start in this folder, and not where Hornbeam is a dependency. SwiftPM suppresses the warnings of
// dependencies, and its build system “swiftbuild” passes that option beside the one that makes warnings errors: the compiler refuses the two
// together.
let isRoot = Context.environment["PWD"] == Context.packageDirectory

let common: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
] + (isRoot ? [.treatAllWarnings(as: .error)] : [])

/// `Scripts/test` sets this: its tests take less time than they do without optimisation, by more than the compiler takes longer. Assertions stay.
let isOptimised = isRoot && Context.environment["HORNBEAM_OPTIMISED"] != nil

/// The settings of the modules under `Sources/`.
let strict: [SwiftSetting] = common + [.strictMemorySafety()]
    + (isOptimised ? [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))] : [])

/// The settings of the compiler plug-in. The compiler waits for it hundreds of times in a build, so debug builds optimise it too.
let optimised: [SwiftSetting] = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]

let package = Package(
    name: "hornbeam",
    products: [
        .library(name: "Hornbeam", targets: ["Hornbeam"]),
        .library(name: "HornbeamLists", targets: ["HornbeamLists"]),
        .library(name: "HornbeamPostgres", targets: ["HornbeamPostgres"]),
        .library(name: "HornbeamConformance", targets: ["HornbeamConformance"]),
        .library(name: "HornbeamXcodeModels", targets: ["HornbeamXcodeModels"]),
        .executable(name: "hornbeam", targets: ["HornbeamTool"]),
        .executable(name: "crash-harness", targets: ["CrashHarness"]),
        .executable(name: "hornbeam-examples", targets: ["Examples"]),
        .plugin(name: "HornbeamModelPlugin", targets: ["HornbeamModelPlugin"]),
        .plugin(name: "GenerateModelPlugin", targets: ["GenerateModelPlugin"]),
    ],
    traits: [
        .trait(name: "Rivals", description: "Measure SQLite and LMDB beside Hornbeam in the benchmarks."),
        .trait(name: "Postgres", description: "Build HornbeamPostgres, which needs libpq."),
    ],
    targets: [
        .systemLibrary(
            name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
        .systemLibrary(name: "CSystem"),
        .target(name: "HornbeamThreads", swiftSettings: strict),
        .target(
            name: "HornbeamEngine", dependencies: ["CLZ4", "CSystem", "HornbeamThreads"],
            swiftSettings: strict),
        .target(name: "HornbeamModel", dependencies: ["HornbeamThreads"], swiftSettings: strict),
        .target(
            name: "HornbeamXcodeModels", dependencies: ["HornbeamModel"], swiftSettings: strict),
        .target(
            name: "HornbeamGenerator", dependencies: ["HornbeamModel"], swiftSettings: strict),
        .executableTarget(
            name: "ModelPluginTool", dependencies: ["HornbeamGenerator", "HornbeamModel", "HornbeamXcodeModels"],
            swiftSettings: strict),
        .plugin(name: "HornbeamModelPlugin", capability: .buildTool(), dependencies: ["ModelPluginTool"], path: "Sources/HornbeamModelPlugin"),
        .plugin(
            name: "GenerateModelPlugin",
            capability: .command(
                intent: .custom(verb: "generate-model", description: "Write Swift classes for a Hornbeam model."),
                permissions: [.writeToPackageDirectory(reason: "The classes are written into the package.")]),
            dependencies: ["ModelPluginTool"], path: "Sources/GenerateModelPlugin"),
        .target(
            name: "HornbeamStore", dependencies: ["HornbeamEngine", "HornbeamModel", "HornbeamThreads"],
            swiftSettings: strict),
        .target(name: "HornbeamSimulation", dependencies: ["HornbeamEngine", "HornbeamThreads"], swiftSettings: strict),
        .target(name: "HornbeamExpansion", swiftSettings: optimised),
        .macro(name: "HornbeamMacros", dependencies: ["HornbeamExpansion"], swiftSettings: optimised),
        .target(
            name: "Hornbeam", dependencies: ["HornbeamMacros", "HornbeamModel", "HornbeamStore", "HornbeamThreads"],
            swiftSettings: strict),
        .target(name: "HornbeamLists", dependencies: ["Hornbeam"], swiftSettings: strict),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "HornbeamPostgres",
            dependencies: [
                "Hornbeam", "HornbeamModel", "HornbeamThreads", .target(name: "CPostgres", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: strict),
        .target(name: "HornbeamConformance", dependencies: ["Hornbeam", "HornbeamModel"], swiftSettings: strict),
        .executableTarget(
            name: "HornbeamTool",
            dependencies: [
                "CLZ4", "Hornbeam", "HornbeamLists", "HornbeamGenerator", "HornbeamStore", "HornbeamEngine", "HornbeamXcodeModels", "HornbeamThreads",
                .target(name: "HornbeamPostgres", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "CrashHarness",
            dependencies: [
                "HornbeamEngine", "HornbeamModel", "HornbeamSimulation", "HornbeamStore", "Hornbeam", "HornbeamThreads",
                .target(name: "HornbeamPostgres", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: strict),
        .executableTarget(name: "Examples", dependencies: ["Hornbeam", "HornbeamLists"], swiftSettings: strict),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "HornbeamEngine", "Hornbeam", "HornbeamThreads",
                .target(name: "CSQLite", condition: .when(traits: ["Rivals"])),
                .target(name: "CLMDB", condition: .when(traits: ["Rivals"])),
                .target(name: "HornbeamPostgres", condition: .when(traits: ["Postgres"])),
                .target(name: "CPostgres", condition: .when(traits: ["Postgres"])),
            ],
            path: "Benchmarks", exclude: ["CSQLite", "CLMDB"], swiftSettings: common),
        .systemLibrary(
            name: "CSQLite", path: "Benchmarks/CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CLMDB", path: "Benchmarks/CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"])]),
        .testTarget(
            name: "HornbeamEngineTests", dependencies: ["HornbeamEngine", "HornbeamSimulation", "HornbeamThreads", "CrashHarness"],
            swiftSettings: common),
        .testTarget(name: "HornbeamSimulationTests", dependencies: ["HornbeamEngine", "HornbeamSimulation"], swiftSettings: common),
        .testTarget(
            name: "CrashHarnessTests", dependencies: ["CrashHarness", "Hornbeam", "HornbeamEngine", "HornbeamSimulation", "HornbeamThreads"],
            swiftSettings: common),
        .testTarget(name: "HornbeamModelTests", dependencies: ["HornbeamModel"], swiftSettings: common),
        .testTarget(
            name: "HornbeamXcodeModelsTests", dependencies: ["HornbeamXcodeModels", "Hornbeam", "HornbeamModel"],
            swiftSettings: common),
        .testTarget(
            name: "HornbeamGeneratorTests", dependencies: ["HornbeamGenerator", "HornbeamModel"], swiftSettings: common),
        .testTarget(
            name: "HornbeamStoreTests",
            dependencies: ["HornbeamStore", "HornbeamEngine", "HornbeamModel", "HornbeamSimulation", "HornbeamThreads"],
            swiftSettings: common),
        // Not of the plug-in itself: SwiftPM would build all tests, and what they need, a second time for the host.
        .testTarget(name: "HornbeamExpansionTests", dependencies: ["HornbeamExpansion"], swiftSettings: common),
        .testTarget(
            name: "HornbeamTests",
            dependencies: ["Hornbeam", "HornbeamConformance", "HornbeamLists", "HornbeamStore", "HornbeamEngine", "HornbeamSimulation", "HornbeamThreads", "HornbeamPostgres"],
            swiftSettings: common),
        .testTarget(
            name: "HornbeamToolTests",
            dependencies: ["HornbeamTool", "Hornbeam", "HornbeamLists", "HornbeamStore", "HornbeamSimulation", "HornbeamXcodeModels"],
            swiftSettings: common),
        .testTarget(
            name: "DocumentationTests", dependencies: ["Examples", "Hornbeam", "HornbeamConformance", "HornbeamLists", "HornbeamXcodeModels"],
            swiftSettings: common),
        .testTarget(
            name: "HornbeamPostgresTests", dependencies: ["Hornbeam", "HornbeamConformance", "HornbeamModel", "HornbeamPostgres"],
            swiftSettings: common),
        .testTarget(name: "RepositoryTests", swiftSettings: common),
    ]
)
